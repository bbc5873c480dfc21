import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { timestamp } from '../../../api/timestamp.ts';
import type { Transport } from '../../../client/transport.ts';
import { statusErrorOf } from '../../../client/transport.ts';
import { FatalError } from '../../errors.ts';
import type { DemoPod } from './objects.ts';
import { demoNamespace, readyStatus } from './objects.ts';

const program = fileURLToPath(new URL('./backend.ts', import.meta.url));

/** Starts the process of a Pod; resolves when it serves. */
export function startPod({ name, address }: DemoPod, cluster: string): Promise<void> {
  const child = fork(program, [`${name} of ${cluster}`, address], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  return new Promise((resolve, reject) => {
    const failed = (why: string): void =>
      reject(new FatalError(`cannot start Pod "${name}" of the demo at ${address}: ${why}`));
    child.once('message', (message: { readonly problem?: string; readonly isTaken?: boolean }) => {
      const { problem, isTaken = false } = message;
      if (problem !== undefined)
        return failed(isTaken ? `${problem}: does another demo run? Stop that first` : problem);
      letGo(child);
      resolve();
    });
    child.once('error', (error) => failed(error.message));
    child.once('exit', () => failed('it ended'));
  });
}

/** It ends when this process does, and does not keep it from ending. */
function letGo(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
}

/** Writes what an agent on a machine would: the Pod runs, and where. */
export async function tellReady(api: Transport, pod: DemoPod): Promise<void> {
  const startedAt = timestamp(Date.now());
  const answer = await api.request({
    method: 'PATCH',
    path: `/api/v1/namespaces/${demoNamespace}/pods/${pod.name}/status`,
    type: 'application/merge-patch+json',
    body: JSON.stringify({ status: readyStatus(pod, startedAt) }),
  });
  if (answer.status >= 300)
    throw new FatalError(`cannot make Pod "${pod.name}" ready: ${statusErrorOf(answer).message}`);
}
