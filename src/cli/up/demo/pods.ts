import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import type { Transport } from '../../../client/transport.ts';
import { statusErrorOf } from '../../../client/transport.ts';
import { FatalError } from '../../errors.ts';
import type { DemoPod } from './objects.ts';
import { demoNamespace } from './objects.ts';

const program = fileURLToPath(new URL('./backend.ts', import.meta.url));

/** Starts the process of a Pod; resolves when it serves. */
export function startPod({ name, address }: DemoPod, cluster: string): Promise<void> {
  const child = fork(program, [`${name} of ${cluster}`, address], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  return new Promise((resolve, reject) => {
    const failed = (why: string): void =>
      reject(new FatalError(`cannot start Pod "${name}" of the demo at ${address}: ${why}`));
    child.once('message', ({ problem, takenPort }: PodMessage) => {
      if (takenPort !== undefined) return failed(takenText(takenPort));
      if (problem !== undefined) return failed(problem);
      letGo(child);
      resolve();
    });
    child.once('error', (error) => failed(error.message));
    child.once('exit', () => failed('it ended'));
  });
}

/** What the process of a Pod sends: neither field when it serves. */
export interface PodMessage {
  readonly problem?: string;
  /** The port that it cannot listen on because it is in use. */
  readonly takenPort?: number;
}

const takenText = (port: number): string =>
  `port ${port} is in use, there or at all addresses: stop the other demo or program, or run \`fairlead up\` without --demo`;

/** The process exits with this one, and does not keep it running. */
function letGo(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
}

/** Writes the status of a Pod, as an agent on a machine would. */
export async function writeStatus(api: Transport, name: string, status: object): Promise<void> {
  const answer = await api.request({
    method: 'PATCH',
    path: `/api/v1/namespaces/${demoNamespace}/pods/${name}/status`,
    type: 'application/merge-patch+json',
    body: JSON.stringify({ status }),
  });
  if (answer.status >= 300)
    throw new FatalError(`cannot write the status of Pod "${name}": ${statusErrorOf(answer).message}`);
}
