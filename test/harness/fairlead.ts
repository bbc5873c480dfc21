import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { ProcessOptions } from './process.ts';
import { FairleadProcess } from './process.ts';
import { storeFlags } from './store.ts';

/** A `fairlead` process that is ready. */
export interface Fairlead extends AsyncDisposable {
  readonly directory: string;
  readonly kubeconfig: string;
  readonly process: FairleadProcess;
  /** Sends a signal and resolves when the process has exited; another exit code than 0 after SIGTERM is an error. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

/** Starts `up` or `server` on free ports, with a data directory that is kept when the process exits. */
export async function startFairlead(
  directory: string,
  command: readonly string[],
  options?: ProcessOptions,
): Promise<Fairlead> {
  const [name = '', ...flags] = command;
  const port = name === 'up' ? '--port-base' : '--secure-port';
  const process = new FairleadProcess(
    [name, '--data-dir', directory, port, '0', ...storeFlags(directory, flags), ...flags],
    options,
  );
  const stop: Fairlead['stop'] = (signal) => process.stop(signal);
  try {
    await process.ready();
  } catch (error) {
    await process.stop('SIGKILL');
    throw error;
  }
  return { directory, kubeconfig: join(directory, 'kubeconfig'), process, stop, [Symbol.asyncDispose]: () => stop() };
}

/** A temporary directory that is deleted with its owner. */
export async function temporaryDirectory(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'fairlead-test-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 10 }) };
}
