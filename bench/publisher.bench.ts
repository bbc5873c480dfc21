// Measures publishers as separate processes with our server and BIND: from an empty zone to all names, one change until a client
// of the DNS server sees it, and a minute without changes.
import { Resolver } from 'node:dns/promises';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { key, PrimaryServer, zone } from '../test/publisher/servers.ts';
import type { Result } from './api.bench.ts';
import type { Target } from './client.ts';
import { startFairlead } from './fairlead.ts';
import { kubeconfigFor } from './kubeconfig.ts';
import { cpuSecondsOf, freePort, residentBytesOf, settled, stopAll } from './process.ts';
import type { PublisherProgram } from './publisher/programs.ts';
import { quantile } from './quantile.ts';
import { send } from './send.ts';

/** The Services, and whether their ports have names, for which we publish SRV records. */
export interface PublisherScale {
  readonly services: number;
  readonly hasSrv: boolean;
}

/** Longer than changes are collected, so that each is seen alone. */
const betweenChangesMs = 300;

const services = '/api/v1/namespaces/default/services';
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Measures one program on a new server and an empty zone. */
export async function measurePublisher(
  program: PublisherProgram,
  scale: PublisherScale,
  progress: (text: string) => void,
): Promise<Result[]> {
  const title = `${scale.services.toLocaleString('en')} Services${scale.hasSrv ? ' with SRV records' : ''}`;
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const server = await startFairlead();
  stack.defer(() => server.stop());
  const statisticsPort = await freePort();
  const primary = stack.use(await PrimaryServer.start('BIND', { keys: [key], statisticsPort }));
  progress(`${program.name}, ${title}: filling the cluster`);
  await send(server.target, scale.services, (index) => ['POST', services, serviceOf(index, scale)]);
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(server.target));

  progress(`${program.name}, ${title}: from empty`);
  const started = performance.now();
  const child = await program.start({ kubeconfig, server: primary.place, directory });
  stack.defer(() => stopAll([child]));
  const pid = child.pid ?? 0;
  const cost = (): Cost => ({ own: cpuSecondsOf([pid]), dns: cpuSecondsOf([primary.pid]) });
  const doneAt = await complete(primary, scale);
  await settled(() => cpuSecondsOf([pid]));
  const empty = cost();
  const updates = await updatesOf(statisticsPort);

  progress(`${program.name}, ${title}: changes`);
  const seenMs: number[] = [];
  for (let index = 0; index < program.changes; index++) {
    seenMs.push(await changeOne(server.target, primary, Math.floor((index * scale.services) / program.changes)));
    await pause(betweenChangesMs);
  }
  const changed = cost();

  progress(`${program.name}, ${title}: a minute without changes`);
  await pause(60_000);
  const idle = cost();
  const perChange = (after: number, before: number): number => ((after - before) * 1e6) / program.changes;
  return [
    { name: `${title}: all names from empty`, value: doneAt - started, unit: 'ms' },
    { name: `${title}: DNS updates for that`, value: updates, unit: '' },
    { name: `${title}: CPU for that`, value: empty.own * 1000, unit: 'ms' },
    { name: `${title}: CPU of BIND for that`, value: empty.dns * 1000, unit: 'ms' },
    { name: `${title}: one change until BIND answers it, p50`, value: quantile(seenMs, 0.5), unit: 'ms' },
    { name: `${title}: one change until BIND answers it, p99`, value: quantile(seenMs, 0.99), unit: 'ms' },
    { name: `${title}: CPU of one change`, value: perChange(changed.own, empty.own) / 1000, unit: 'ms' },
    { name: `${title}: CPU of BIND for one change`, value: perChange(changed.dns, empty.dns) / 1000, unit: 'ms' },
    { name: `${title}: CPU of a minute without changes`, value: (idle.own - changed.own) * 1000, unit: 'ms' },
    { name: `${title}: memory at rest`, value: residentBytesOf([pid]) / 1e6, unit: 'MB' },
  ];
}

/** CPU seconds of the program and of the DNS server. */
interface Cost {
  readonly own: number;
  readonly dns: number;
}

const addressOf = (index: number, block = 18): string => `198.${block}.${index >> 8}.${index & 255}`;
const hostOf = (index: number): string => `s-${index}.${zone}`;

/** A Service whose external IP is published, which needs no load balancer. */
const serviceOf = (index: number, { hasSrv }: PublisherScale): object => ({
  metadata: { name: `s-${index}`, annotations: { 'external-dns.kubernetes.io/hostname': hostOf(index) } },
  spec: {
    type: 'LoadBalancer',
    loadBalancerClass: 'example.org/none',
    allocateLoadBalancerNodePorts: false,
    externalIPs: [addressOf(index)],
    ports: [{ port: 80, protocol: 'TCP', ...(hasSrv ? { name: 'http' } : {}) }],
  },
});

const resolverOf = ({ place }: PrimaryServer): Resolver => {
  const resolver = new Resolver({ timeout: 1000, tries: 2 });
  resolver.setServers([`${place.address}:${place.port}`]);
  return resolver;
};

/** How long the zone does not change any more when it is complete. */
const restMs = 3000;

/** When the last record of all Services was written. */
async function complete(primary: PrimaryServer, scale: PublisherScale): Promise<number> {
  const resolver = resolverOf(primary);
  let serial = 0;
  let changedAt = performance.now();
  for (const end = performance.now() + 600_000; performance.now() < end; await pause(20)) {
    const now = (await resolver.resolveSoa(zone)).serial;
    if (now !== serial) {
      serial = now;
      changedAt = performance.now();
    } else if (performance.now() - changedAt > restMs) {
      if (await isComplete(primary, scale)) return changedAt;
      changedAt = performance.now();
    }
  }
  throw new Error('the zone was not complete within ten minutes');
}

async function isComplete(primary: PrimaryServer, { services: count, hasSrv }: PublisherScale): Promise<boolean> {
  const lines = (await primary.records()).filter((line) => /^(?:\S+\.)?s-\d+\./.test(line));
  const of = (type: string): number => lines.filter((line) => line.includes(` IN ${type} `)).length;
  return of('A') === count && of('SRV') === (hasSrv ? count : 0);
}

/** Moves a Service to another address; resolves with the milliseconds until the DNS server answers it. */
async function changeOne(target: Target, primary: PrimaryServer, index: number): Promise<number> {
  const resolver = resolverOf(primary);
  const address = addressOf(index, 19);
  const body = { spec: { externalIPs: [address] } };
  const began = await send(target, 1, () => ['PATCH', `${services}/s-${index}`, body, 'application/merge-patch+json']);
  for (const end = began + 180_000; performance.now() < end; await pause(5)) {
    const [answer] = await resolver.resolve4(hostOf(index));
    if (answer === address) return performance.now() - began;
  }
  throw new Error(`the change of ${hostOf(index)} was not published within three minutes`);
}

/** The number of UPDATE messages that BIND has received. */
async function updatesOf(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/json/v1/server`);
  // A cast: the statistics of BIND.
  const { opcodes } = (await response.json()) as { readonly opcodes: Readonly<Record<string, number>> };
  return opcodes['UPDATE'] ?? 0;
}
