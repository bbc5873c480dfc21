// Measures connections without rules, with unrelated rules, and through rules, between two Pods of one node in network namespaces.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { NftablesBackend } from '../../src/proxy/nftables/backend.ts';
import type { Route, Target } from '../../src/proxy/routes/route.ts';
import { RoutingTable } from '../../src/proxy/routes/table.ts';
import { startCluster, whyNoNamespaces } from '../../test/proxy/namespaces/cluster.ts';
import type { Cluster } from '../../test/proxy/namespaces/cluster.ts';
import { start, stopAll } from '../process.ts';
import { median } from '../quantile.ts';

/** One address of the same server. */
export interface PathResult {
  readonly path: string;
  readonly gigabitsPerSecond: number;
  readonly connectionsPerSecond: number;
}

const rounds = 5;
const seconds = 1;
const bulkPort = 5201;
// A port for each address: connection tracking of one must not affect the other.
const direct = { address: '10.1.0.11', port: 5202 } as const;
const virtual = { address: '10.96.0.10', port: 5203 } as const;
type Way = typeof direct | typeof virtual;
/** Services besides the measured one: rules are looked up, not scanned. */
const otherServices = 10_000;
const program = fileURLToPath(new URL('connections.ts', import.meta.url));

/** Measures from one Pod to another: without rules, then alternately with unrelated rules and through them. Medians. */
export async function measurePath(progress: (text: string) => void): Promise<readonly PathResult[] | undefined> {
  if (whyNoNamespaces().length > 0) return undefined;
  await using cluster = await startCluster();
  const servers = await startServers(cluster);
  try {
    progress('the path without rules');
    const bare = await measureTurns(cluster, [direct]);
    await using _rules = await makeRules(cluster);
    progress('the path beside rules and through them');
    const ruled = await measureTurns(cluster, [direct, virtual]);
    const names = ['direct, without rules', 'direct, beside rules', 'by a cluster IP'];
    return [...bare, ...ruled].map((result, index) => ({ path: names[index] ?? '', ...result }));
  } finally {
    await stopAll(servers);
  }
}

async function startServers({ podA }: Cluster): Promise<readonly ChildProcess[]> {
  const within = (name: string, ...args: readonly string[]): ChildProcess => {
    const [command, ...first] = podA.within(name);
    return start(command, [...first, ...args]);
  };
  const bulk = within('iperf3', '--server', '--forceflush', '--port', String(bulkPort));
  const short = [direct, virtual].map(({ port }) => within(process.execPath, program, 'serve', String(port)));
  const servers = [bulk, ...short];
  await Promise.all(servers.flatMap(({ stdout }) => (stdout === null ? [] : [once(stdout, 'data')])));
  return servers;
}

async function makeRules({ node }: Cluster): Promise<NftablesBackend> {
  const table = new RoutingTable({
    addresses: new Set(),
    podRanges: ['10.1.0.0/24'],
    serviceRanges: ['10.96.0.0/16'],
    masqueradeAll: false,
  });
  const portRoute = (port: number): Route => routeTo(virtual.address, port, [target(direct.address, port)]);
  table.set('Service bench/measured', [portRoute(bulkPort), portRoute(virtual.port)]);
  for (let index = 0; index < otherServices; index++) {
    const targets = Array.from({ length: 10 }, (_, each) => target(`10.2.${index >> 8}.${index & 255}`, 8000 + each));
    table.set(`Service bench/${index}`, [routeTo(`10.96.${64 + (index >> 8)}.${index & 255}`, 80, targets)]);
  }
  const backend = await NftablesBackend.open({ nft: node.within('nft'), conntrack: node.within('conntrack') });
  await backend.replace(table);
  return backend;
}

const target = (address: string, port: number): Target => ({
  address,
  port,
  weight: 1,
  stickySeconds: 0,
  isLocal: false,
});

const routeTo = (address: string, port: number, targets: readonly Target[]): Route => ({
  owner: 'Service bench/bench',
  portName: '',
  kind: 'clusterIP',
  family: 'IPv4',
  address,
  protocol: 'TCP',
  port,
  action: { type: 'forward', targets },
  masquerade: 'outsiders',
});

/** Every address in turn, repeatedly. */
async function measureTurns(cluster: Cluster, ways: readonly Way[]): Promise<readonly Omit<PathResult, 'path'>[]> {
  const bits = ways.map((): number[] => []);
  const opened = ways.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, way] of ways.entries()) {
      bits[index]?.push(bitsPerSecond(cluster, way));
      opened[index]?.push(connectionsPerSecond(cluster, way));
    }
  }
  return ways.map((_, index) => ({
    gigabitsPerSecond: median(bits[index] ?? []) / 1e9,
    connectionsPerSecond: median(opened[index] ?? []),
  }));
}

function bitsPerSecond({ podB }: Cluster, { address }: Way): number {
  const text = podB.run('iperf3', '--client', address, '--port', String(bulkPort), '--time', String(seconds), '--json');
  // A cast where bytes become a report: iperf3 writes it.
  const report = JSON.parse(text) as { readonly end: { readonly sum_received: { readonly bits_per_second: number } } };
  return report.end.sum_received.bits_per_second;
}

const connectionsPerSecond = ({ podB }: Cluster, { address, port }: Way): number =>
  Number(podB.run(process.execPath, program, 'open', address, String(port), String(seconds))) / seconds;
