// `fairlead multicluster` as a separate process.

import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

import { cpuSecondsOf, freePort, residentBytesOf, start } from '../process.ts';
import type { Clusters } from './clusters.ts';
import { clusterId } from './clusters.ts';

/** A running controller. */
export interface Controller extends AsyncDisposable {
  /** CPU seconds so far. */
  cpuSeconds(): number;
  residentBytes(): number;
  /** Writes to members so far, without renewals of leases. */
  writes(): Promise<number>;
  /** Resolves when every member was read and every service was reconciled in every member. */
  steady(): Promise<void>;
}

const steadyMs = 120_000;

/** Starts a controller for the clusters, configured as in production but as the only replica. */
export async function startController({ kubeconfig, members }: Clusters): Promise<Controller> {
  const port = await freePort();
  const program = new URL('../../bin/fairlead.js', import.meta.url).pathname;
  const where = ['--kubeconfig', kubeconfig, '--context', clusterId(0), '--members', members];
  const how = ['--leader-elect=false', '--health-port', String(port), '--log-level', 'warn'];
  // For example --cpu-prof, to profile it.
  const node = (process.env['CONTROLLER_NODE_OPTIONS'] ?? '').split(' ').filter((option) => option !== '');
  const child = start(process.execPath, [...node, program, 'multicluster', ...where, ...how]);
  const pids = [child.pid ?? 0];
  const ask = async (path: string): Promise<string | undefined> => {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return answer.ok ? await answer.text() : undefined;
    } catch {
      return undefined; // not listening yet
    }
  };
  return {
    cpuSeconds: () => cpuSecondsOf(pids),
    residentBytes: () => residentBytesOf(pids),
    writes: async () => sumOf('fairlead_multicluster_writes_total', (await ask('/metrics')) ?? ''),
    async steady() {
      const isReady = async (): Promise<boolean> => (await ask('/readyz')) !== undefined;
      const isWaiting = async (): Promise<boolean> =>
        sumOf('fairlead_multicluster_waiting_services', (await ask('/metrics')) ?? '') > 0;
      for (const end = performance.now() + steadyMs; !(await isReady()) || (await isWaiting()); await delay(20)) {
        if (child.exitCode !== null) throw new Error(`the controller ended with ${child.exitCode}`);
        if (performance.now() > end) throw new Error(`the controller was not steady within ${steadyMs} ms`);
      }
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** The sum over all labels of a metric. */
const sumOf = (name: string, text: string): number =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
