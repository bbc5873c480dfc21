// Compares our DNS server with CoreDNS and Knot: the same names and the same queries by dnsperf, one after the other in one
// run. A peer that is not on the PATH (or named by COREDNS and KNOTD) is left out and reported.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Connection } from './client.ts';
import { load, probe, untilAnswered } from './dns/dnsperf.ts';
import type { DnsServer, Served } from './dns/servers.ts';
import { startCoreDns, startFairleadDns, startKnot } from './dns/servers.ts';
import { startFairlead } from './fairlead.ts';
import { kubeconfigFor } from './kubeconfig.ts';
import type { Running } from './process.ts';

/** The results of one server for one cluster size. */
export interface DnsResult {
  readonly server: string;
  readonly services: number;
  /** Mixed queries at the maximum rate. */
  readonly perSecond: number;
  readonly cpuMicros: number;
  /** Single queries, at half that rate, and during random names at the maximum rate. */
  readonly p99Ms: number;
  readonly floodedP99Ms: number;
  readonly megabytes: number;
  /** From the creation of a Service to its answer; undefined for servers that do not follow a cluster. */
  readonly createdP99Ms: number | undefined;
}

const seconds = 5;
const namespaces = 10;
const hostOf = (index: number): string => `service-${index}.bench-${index % namespaces}.svc.cluster.local`;

/** Measures every server with a number of Services. */
export async function measureDns(services: number, progress: (text: string) => void): Promise<readonly DnsResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-dns-'));
  const cluster = await startFairlead();
  try {
    progress(`${services} Services are made`);
    await fill(cluster, services);
    const served = await describe(cluster, directory);
    const files = await writeQueries(directory, services);
    const measure = async (server: DnsServer): Promise<DnsResult> => {
      progress(`${server.name}, ${services} Services`);
      return { services, ...(await measureServer(server, cluster, files)) };
    };
    const results: DnsResult[] = [];
    const ours = await startFairleadDns(served);
    try {
      results.push(await measure(ours));
      for (const start of peers(served, ours)) {
        const peer = await start();
        try {
          results.push(await measure(peer));
        } finally {
          await peer.stop();
        }
      }
    } finally {
      await ours.stop();
    }
    return results;
  } finally {
    await cluster.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

function peers(served: Served, ours: DnsServer): readonly (() => Promise<DnsServer>)[] {
  const coredns = process.env['COREDNS'];
  const knotd = process.env['KNOTD'];
  return [
    ...(coredns === undefined ? [] : [false, true].map((cache) => () => startCoreDns(coredns, served, cache))),
    ...(knotd === undefined ? [] : [() => startKnot(knotd, served, ours)]),
  ];
}

async function describe(cluster: Running, directory: string): Promise<Served> {
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(cluster.target));
  return { directory, kubeconfig, context: 'bench', sample: hostOf(0) };
}

async function fill(cluster: Running, services: number): Promise<void> {
  const connections = await Promise.all(Array.from({ length: 16 }, () => Connection.open(cluster.target)));
  for (let index = 0; index < namespaces; index++) {
    await post(connections[0], '/api/v1/namespaces', { metadata: { name: `bench-${index}` } });
  }
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      for (let index = next++; index < services; index = next++) await createService(connection, index);
      connection.close();
    }),
  );
}

const createService = (connection: Connection | undefined, index: number): Promise<void> =>
  post(connection, `/api/v1/namespaces/bench-${index % namespaces}/services`, {
    metadata: { name: `service-${index}` },
    spec: { ports: [{ name: 'http', port: 80 }] },
  });

async function post(connection: Connection | undefined, path: string, body: object): Promise<void> {
  const answer = await connection?.request('POST', path, JSON.stringify(body));
  if (answer?.status !== 201) throw new Error(`${path}: ${answer?.status} ${answer?.body.toString()}`);
}

interface Queries {
  /** Typical queries of Pods: half A, the rest AAAA without records, search list misses, and SRV. */
  readonly mixed: string;
  /** Missing names, each queried once. */
  readonly flood: string;
  readonly names: readonly string[];
}

async function writeQueries(directory: string, services: number): Promise<Queries> {
  const names = Array.from({ length: services }, (_, index) => hostOf(index));
  const mixed = names.flatMap((name, index) => [
    `${name} A`,
    `${name} AAAA`,
    `${names[(index * 7919) % services] ?? name} A`,
    index % 2 === 0 ? `www.example.com.${name.slice(name.indexOf('.') + 1)} A` : `_http._tcp.${name} SRV`,
  ]);
  const flood = Array.from(
    { length: 200_000 },
    (_, index) => `${Math.random().toString(36).slice(2)}-${index}.bench-${index % namespaces}.svc.cluster.local A`,
  );
  const files = { mixed: join(directory, 'mixed'), flood: join(directory, 'flood') };
  await writeFile(files.mixed, `${mixed.join('\n')}\n`);
  await writeFile(files.flood, `${flood.join('\n')}\n`);
  return { ...files, names };
}

type Measured = Omit<DnsResult, 'services'>;

async function measureServer(server: DnsServer, cluster: Running, { mixed, flood, names }: Queries): Promise<Measured> {
  const { port } = server;
  await load({ port, queries: mixed, seconds: 2 }); // warms caches and compilers
  const before = server.cpuSeconds();
  const full = await load({ port, queries: mixed, seconds });
  const cpuMicros = ((server.cpuSeconds() - before) / full.completed) * 1e6;
  const [half] = await Promise.all([
    probe(port, names, seconds),
    load({ port, queries: mixed, seconds, rate: full.perSecond / 2 }),
  ]);
  const [flooded] = await Promise.all([probe(port, names, seconds), load({ port, queries: flood, seconds })]);
  return {
    server: server.name,
    perSecond: full.perSecond,
    cpuMicros,
    p99Ms: p99(half),
    floodedP99Ms: p99(flooded),
    megabytes: server.residentBytes() / 1e6,
    createdP99Ms: server.follows ? await measureFreshness(server, cluster) : undefined,
  };
}

let created = 1_000_000;
const freshRounds = 100;

/** The time from the creation of a Service to the answer for its name. */
async function measureFreshness({ port }: DnsServer, cluster: Running): Promise<number> {
  const connection = await Connection.open(cluster.target);
  const taken: number[] = [];
  for (let round = 0; round < freshRounds; round++) {
    const index = created++;
    await createService(connection, index);
    taken.push(await untilAnswered(port, hostOf(index)));
  }
  connection.close();
  return p99(taken);
}

const p99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;
