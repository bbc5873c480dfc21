// Measures `fairlead loadbalancer` as a separate process with our server: from no address to all of them, and the cost of one
// change of a Service, which must not grow with the number of Services.

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

/** The provider and the number of Services. */
export interface BalancedScale {
  readonly services: number;
  /** A cloud to simulate; default: addresses of a pool only. */
  readonly cloud?: string;
}

export interface BalancedCost {
  readonly readyMs: number;
  /** CPU of the controller per Service, from creation to ready. */
  readonly readyCpuMs: number;
  /** CPU of the controller per changed Service. */
  readonly changeCpuMs: number;
  /** Writes to a Service after its change. */
  readonly changeWrites: number;
  /** Calls that modify the cloud, per changed Service. */
  readonly changeCalls: number;
  readonly megabytes: number;
}

/** The number of Services to change, at most all. */
const mostChanges = 500;
const services = '/api/v1/namespaces/default/services';
const clouds = '/apis/loadbalancer.fairlead.dev/v1alpha1/cloudloadbalancers';

/** Measures one scale on a new server. */
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
    // Each gets a finalizer, and then its status.
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

/** A DNS server on both protocols; without node ports, because there are fewer of them than Services. */
const serviceOf = (index: number): object => ({
  metadata: { name: `dns-${index}` },
  spec: { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: portsOf(53) },
});

/** Changes the port of some Services, spread over all of them. */
const changePorts = (target: Target, changes: number, scale: BalancedScale): Promise<number> =>
  send(target, changes, (index) => [
    'PATCH',
    `${services}/dns-${Math.floor((index * scale.services) / changes)}`,
    { spec: { ports: portsOf(5353) } },
    'application/merge-patch+json',
  ]);
