import { join } from 'node:path';

import { run } from '../harness/command.ts';
import { FairleadProcess, root } from '../harness/process.ts';

/** Writes the kubeconfig of the controllers, as the administrator of a server in `directory` does. */
export async function controllersKubeconfig(directory: string): Promise<string> {
  const file = join(directory, 'controllers.kubeconfig');
  const args = [join(root, 'bin', 'fairlead.js'), 'user', 'add', 'controllers', '--part', '-o', file];
  const { code, err } = await run(process.execPath, [...args, '--data-dir', directory]);
  if (code !== 0) throw new Error(err);
  return file;
}

/** Starts `fairlead controllers`. */
export const startControllers = (kubeconfig: string, flags: readonly string[] = []): FairleadProcess =>
  new FairleadProcess(['controllers', '--kubeconfig', kubeconfig, '--health-port', '0', ...flags]);

/** The response of a process at a path of its health port, which it prints when it starts. */
export async function askHealth(part: FairleadProcess, path: string): Promise<{ status: number; text: string }> {
  await part.prints(/\/readyz$/m);
  const [, url = ''] = /health\s+(http:\/\/\S+)\/readyz/.exec(part.out) ?? [];
  const answer = await fetch(`${url}${path}`);
  return { status: answer.status, text: await answer.text() };
}
