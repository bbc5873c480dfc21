// Clusters in one process and a controller that joins them: how long a change of an endpoint takes until every cluster has
// it, how many writes it costs, how long a controller needs from nothing, and when it begins anew.
//   node bench/multicluster.bench.ts            3 clusters, 1,000 services, 50,000 endpoints
//   node bench/multicluster.bench.ts 10 1000 100

import { setTimeout as delay } from 'node:timers/promises';

import { endpointSliceKind } from '../src/api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../src/api/kinds/discovery/endpointslice/schema.ts';
import { Informer } from '../src/client/informer.ts';
import type { Cluster } from '../test/multicluster/clusters.ts';
import { join, startClusters } from '../test/multicluster/clusters.ts';
import type { Result } from './api.bench.ts';

export interface MulticlusterScale {
  readonly clusters: number;
  readonly services: number;
  /** Of each service, all in one slice. */
  readonly endpoints: number;
}

const changes = 200;
const changesPerSecond = 20;
/** As in production: the tests of the part are in more of a hurry. */
const options = { windowMs: 100, pulse: { renewMs: 5000, durationMs: 15_000 } };

/** Measures one scale. */
export async function measureMulticluster(scale: MulticlusterScale): Promise<readonly Result[]> {
  await using stack = new AsyncDisposableStack();
  const ids = Array.from({ length: scale.clusters }, (_, index) => `c${index}`);
  const clusters = await startClusters(ids, stack);
  await fill(clusters, scale);
  const arrivals = new Arrivals(clusters, stack);
  const first = stack.use(new AsyncDisposableStack());
  const fromNothing = await timed(async () => {
    await join(clusters, first, options).part.ready;
    await arrivals.until(scale.services * scale.clusters);
  });
  await delay(2000);
  await first.disposeAsync();
  const before = writesOf(clusters);
  const anew = await timed(() => join(clusters, stack, options).part.ready);
  await delay(2000);
  const writesAnew = writesOf(clusters) - before;
  const times = await change(clusters, arrivals, scale);
  const writes = (writesOf(clusters) - before - writesAnew) / changes / scale.clusters;
  const name = `${scale.clusters} clusters, ${scale.services} services of ${scale.endpoints} endpoints`;
  return [
    { name: `${name}: from no import to all`, value: fromNothing, unit: 'ms' },
    { name: `${name}: a controller begins anew`, value: anew, unit: 'ms' },
    { name: `${name}: writes of that`, value: writesAnew, unit: '' },
    {
      name: `${name}: an endpoint changes, until all clusters have it, p50`,
      value: percentile(times, 0.5),
      unit: 'ms',
    },
    { name: `${name}: p99`, value: percentile(times, 0.99), unit: 'ms' },
    { name: `${name}: writes for each change and cluster`, value: writes, unit: '' },
    { name: `${name}: memory, servers included`, value: process.memoryUsage.rss() / 1e6, unit: 'MB' },
  ];
}

async function fill(clusters: readonly Cluster[], { services, endpoints }: MulticlusterScale): Promise<void> {
  const atOnce = 50;
  for (let start = 0; start < services; start += atOnce) {
    const names = Array.from({ length: Math.min(atOnce, services - start) }, (_, index) => start + index);
    await Promise.all(
      names.map(async (index) => {
        const cluster = clusters[index % clusters.length];
        await cluster?.service(`s${index}`, addressesOf(index, endpoints));
        await cluster?.export(`s${index}`);
      }),
    );
  }
}

const addressesOf = (service: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `10.${service >> 8}.${service & 255}.${index + 1}`);

/** Changes one endpoint after the other, and gives the time each took to be everywhere, in order. */
async function change(
  clusters: readonly Cluster[],
  arrivals: Arrivals,
  { services, endpoints }: MulticlusterScale,
): Promise<readonly number[]> {
  const waits: Promise<number>[] = [];
  for (let count = 0; count < changes; count++) {
    const index = (count * 7) % services;
    const address = `10.200.${count >> 8}.${count & 255}`;
    waits.push(arrivals.of(address, clusters.length));
    const written = clusters[index % clusters.length]?.slice(`s${index}`, [
      address,
      ...addressesOf(index, endpoints - 1),
    ]);
    await Promise.all([written, delay(1000 / changesPerSecond)]);
  }
  return (await Promise.all(waits)).toSorted((left, right) => left - right);
}

/** What arrives in the clusters, seen as anybody who watches sees it. */
class Arrivals {
  readonly #informers: readonly Informer<EndpointSlice>[];
  /** Address → who waits for it. */
  readonly #waiting = new Map<string, () => void>();

  constructor(clusters: readonly Cluster[], stack: AsyncDisposableStack) {
    const stop = new AbortController();
    stack.defer(() => stop.abort());
    const labelSelector = 'multicluster.kubernetes.io/source-cluster';
    this.#informers = clusters.map(({ client }) => new Informer(client, endpointSliceKind, { labelSelector }));
    const saw = (slice: EndpointSlice): void => this.#waiting.get(slice.endpoints?.[0]?.addresses?.[0] ?? '')?.();
    for (const informer of this.#informers) {
      informer.subscribe({ added: saw, updated: saw });
      void informer.run(stop.signal); // never rejects
    }
  }

  /** Resolves when there are so many slices in all clusters together. */
  async until(count: number): Promise<void> {
    while (this.#informers.reduce((sum, informer) => sum + informer.list().length, 0) < count) await delay(20);
  }

  /** Resolves with the time it took for an address to be seen so often. */
  of(address: string, count: number): Promise<number> {
    const started = performance.now();
    const { promise, resolve } = Promise.withResolvers<number>();
    let left = count;
    this.#waiting.set(address, () => {
      if (--left === 0) resolve(performance.now() - started);
    });
    return promise;
  }
}

const writesOf = (clusters: readonly Cluster[]): number =>
  clusters.flatMap(({ writes }) => writes).filter(({ path }) => !path.includes('/leases')).length;

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

if (import.meta.main) {
  const [clusters = 3, services = 1000, endpoints = 50] = process.argv.slice(2).map(Number);
  for (const { name, value, unit } of await measureMulticluster({ clusters, services, endpoints })) {
    console.log(`${name}: ${value.toFixed(1)} ${unit}`.trimEnd());
  }
}
