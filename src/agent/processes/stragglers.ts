import { readFile, readdir } from 'node:fs/promises';
import { instanceVariable } from './main-process.ts';

/**
 * Kills the processes of instances that left their session, for example daemons. They carry the ID of the instance in
 * their environment.
 */
export async function killStragglers(ids: ReadonlySet<string>): Promise<void> {
  const names = await readdir('/proc').catch((): string[] => []);
  for (const name of names) {
    if (!/^\d+$/.test(name) || name === String(process.pid)) continue;
    const id = await instanceOf(name);
    if (id === undefined || !ids.has(id)) continue;
    try {
      process.kill(Number(name), 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

async function instanceOf(pid: string): Promise<string | undefined> {
  try {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1');
    const start = `${instanceVariable}=`;
    return environment
      .split('\0')
      .find((entry) => entry.startsWith(start))
      ?.slice(start.length);
  } catch {
    return undefined; // it has ended, or belongs to another user
  }
}
