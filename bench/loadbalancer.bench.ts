// `fairlead loadbalancer` as a process of its own beside our server: from no address at all to all of them, and what one
// change of a Service costs, which must not grow with the number of Services.

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Target } from './client.ts';
import { startFairlead } from './fairlead.ts';
import { kubeconfigFor } from './kubeconfig.ts';
import { cpuSecondsOf, residentBytesOf, settled, stopAll } from './process.ts';
import { send } from './send.ts';
import { WatchCount } from './watch-count.ts';

/** What keeps the load balancers, and how many. */
export interface BalancedScale {
  readonly services: number;
  /** A cloud to simulate; left out: addresses of a pool alone. */
  readonly cloud?: string;
}

export interface BalancedCost {
  readonly readyMs: number;
  /** CPU of the controller for one Service, from nothing to ready. */
  readonly readyCpuMs: number;
  /** CPU of the controller for one changed Service. */
  readonly changeCpuMs: number;
  /** Writes to a Service that follow its change. */
  readonly changeWrites: number;
  /** Calls to the cloud that change something, for one changed Service. */
  readonly changeCalls: number;
  readonly megabytes: number;
}

/** So many Services are changed, or all. */
const mostChanges = 500;
const services = '/api/v1/namespaces/default/services';
const clouds = '/apis/loadbalancer.fairlead.dev/v1alpha1/cloudloadbalancers';

/** Measures one scale, on a server of its own. */
export async function measureLoadBalancers(
  scale: BalancedScale,
  progress: (text: string) => void,
): Promise<BalancedCost> {
  const name = `${scale.services} load balancers${scale.cloud === undefined ? '' : ` of ${scale.cloud}`}`;
  const changes = Math.min(mostChanges, scale.services);
  const server = await startFairlead();
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  const stops: (() => Promise<void>)[] = [];
  try {
    progress(`${name}: filling the cluster`);
    await send(server.target, scale.services, (index) => ['POST', services, serviceOf(index)]);
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(kubeconfig, kubeconfigFor(server.target));
    const seen = await WatchCount.open(server.target, services);
    const called = await WatchCount.open(server.target, clouds);
    progress(`${name}: from empty`);
    const started = performance.now();
    const child = start(kubeconfig, scale);
    stops.push(() => stopAll([child]));
    const cpu = (): number => cpuSecondsOf([child.pid ?? 0]);
    // Each is held by a finalizer, and then has its status.
    await seen.until(() => seen.modified >= 2 * scale.services);
    const readyMs = performance.now() - started;
    await settled(() => server.cpuSeconds() + cpu());
    const readyCpu = cpu();
    progress(`${name}: changes`);
    const before = { writes: seen.modified, calls: called.modified };
    await changePorts(server.target, changes, scale);
    await seen.until(() => seen.modified - before.writes >= 2 * changes);
    await settled(() => server.cpuSeconds() + cpu());
    return {
      readyMs,
      readyCpuMs: (readyCpu * 1000) / scale.services,
      changeCpuMs: ((cpu() - readyCpu) * 1000) / changes,
      changeWrites: (seen.modified - before.writes) / changes - 1,
      changeCalls: (called.modified - before.calls) / changes,
      megabytes: residentBytesOf([child.pid ?? 0]) / 1e6,
    };
  } finally {
    for (const stop of stops) await stop();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

function start(kubeconfig: string, { cloud }: BalancedScale) {
  const program = new URL('../bin/fairlead.js', import.meta.url).pathname;
  const flags = ['--kubeconfig', kubeconfig, '--leader-elect=false', '--health-port', '0', '--log-level', 'warn'];
  const pool = ['--pool', 'bench=198.18.0.0/16', ...(cloud === undefined ? [] : ['--simulate', cloud])];
  const args = [program, 'loadbalancer', ...flags, ...pool];
  return spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

const portsOf = (number: number): object[] =>
  ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), port: number, protocol }));

/** A DNS server on both protocols; without node ports, of which there are fewer than Services. */
const serviceOf = (index: number): object => ({
  metadata: { name: `dns-${index}` },
  spec: { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: portsOf(53) },
});

/** Moves some Services, spread over all of them, to another port. */
const changePorts = (target: Target, changes: number, scale: BalancedScale): Promise<number> =>
  send(target, changes, (index) => [
    'PATCH',
    `${services}/dns-${Math.floor((index * scale.services) / changes)}`,
    { spec: { ports: portsOf(5353) } },
    'application/merge-patch+json',
  ]);
