import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead } from '../harness/fairlead.ts';
import { FairleadProcess } from '../harness/process.ts';

const selection = ['--controllers', '*,workloads'];

/** Starts `fairlead server` with all of `fairlead controllers` and a data directory in `path`. */
export async function startControlPlane(
  path: string,
  flags: readonly string[],
  stack: AsyncDisposableStack,
): Promise<Fairlead> {
  const server = stack.use(
    await startFairlead(path, ['server', '--store', 'memory', '--log-level', 'error', ...flags]),
  );
  const controllers = stack.use(
    new FairleadProcess(['controllers', ...selection, '--health-port', '0', '--kubeconfig', server.kubeconfig]),
  );
  await controllers.ready();
  return server;
}
