import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The root of the repository, where commands of the tests run. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const launcher = join(root, 'bin', 'fairlead.js');
const readyWithinMs = 30_000;
const stopWithinMs = 15_000;

/** A `fairlead` process that is ready. */
export interface Fairlead extends AsyncDisposable {
  readonly directory: string;
  readonly kubeconfig: string;
  /** Ends it with a signal and resolves when it has ended; anything but exit code 0 after SIGTERM is an error. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Starts the command, with any free ports, on a data directory that stays when the process ends. */
export async function startFairlead(directory: string, command: readonly string[]): Promise<Fairlead> {
  const [name = '', ...flags] = command;
  const port = name === 'up' ? '--port-base' : '--secure-port';
  const args = [launcher, name, '--data-dir', directory, port, '0', ...flags];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  const printed = Promise.all([text(child.stdout), text(child.stderr)]);
  const state = join(directory, 'state.json');
  for (const end = performance.now() + readyWithinMs; !(await isStateOf(state, child.pid)); await delay(10)) {
    if (child.exitCode !== null) throw new Error(`fairlead ended before it was ready: ${(await printed).join('')}`);
    if (performance.now() < end) continue;
    child.kill('SIGKILL');
    throw new Error(`fairlead was not ready after ${readyWithinMs} ms: ${(await printed).join('')}`);
  }
  const stop: Fairlead['stop'] = async (signal = 'SIGTERM') => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
    const [code] = await exited;
    clearTimeout(timer);
    const [, err] = await printed;
    if (signal === 'SIGTERM' && code !== 0) throw new Error(`fairlead ended with ${code}: ${err}`);
  };
  return { directory, kubeconfig: join(directory, 'kubeconfig'), stop, [Symbol.asyncDispose]: () => stop() };
}

/** A temporary directory that disappears with its owner. */
export async function temporaryDirectory(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'fairlead-test-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The file is written when ready; one left by a killed process names another process. */
async function isStateOf(path: string, pid: number | undefined): Promise<boolean> {
  if (!existsSync(path)) return false;
  const state: unknown = JSON.parse(await readFile(path, 'utf8'));
  return typeof state === 'object' && state !== null && 'pid' in state && state.pid === pid;
}
