// What a set of clusters costs and how fast it is, step after step.

import { setTimeout as delay } from 'node:timers/promises';

import { Connection } from '../client.ts';
import type { Arrivals } from './arrivals.ts';
import type { Clusters } from './clusters.ts';
import type { Controller } from './controller.ts';
import { startController } from './controller.ts';
import type { Scale } from './objects.ts';
import { ask, changeRequest, exportRequests, fill, importersOf, serviceName, unexportRequests } from './objects.ts';

/** CPU seconds of the controller, and of the clusters meanwhile. */
export interface Cost {
  readonly controller: number;
  readonly clusters: number;
}

/** Clusters, the controller that joins them, and who watches. */
export interface Joined extends Scale {
  readonly set: Clusters;
  readonly controller: Controller;
  readonly arrivals: Arrivals;
}

/** What something cost and how long it took. */
export async function costOf(
  { set, controller }: Pick<Joined, 'set' | 'controller'>,
  work: () => Promise<unknown>,
): Promise<Cost & { readonly ms: number }> {
  const before = { controller: controller.cpuSeconds(), clusters: set.cpuSeconds() };
  const started = performance.now();
  await work();
  return {
    ms: performance.now() - started,
    controller: controller.cpuSeconds() - before.controller,
    clusters: set.cpuSeconds() - before.clusters,
  };
}

export interface Changes extends Cost {
  /** How long each took to be in all clusters, in order. */
  readonly times: readonly number[];
  /** Writes for each change in each cluster. */
  readonly writes: number;
}

/** How often, and how fast. */
export interface Pace {
  readonly count: number;
  readonly perSecond: number;
}

/** Changes endpoints of one service after the other; every `round` has its own addresses. */
export async function measureChanges(
  joined: Joined,
  { round, count, perSecond }: Pace & { readonly round: number },
): Promise<Changes> {
  const { set, controller, arrivals, services, clusters } = joined;
  const connections = await Promise.all(set.targets.map((target) => Connection.open(target)));
  const waits: Promise<number>[] = [];
  const before = await controller.writes();
  const cost = await costOf(joined, async () => {
    await paced({ count, perSecond }, async (turn) => {
      const index = (turn * 7) % services;
      const address = `10.${200 + round}.${turn >> 8}.${turn & 255}`;
      waits.push(arrivals.until(address, importersOf(joined)));
      await ask(connections[index % clusters], changeRequest(index, address, joined));
    });
    await Promise.all(waits);
  });
  const writes = ((await controller.writes()) - before) / count / importersOf(joined);
  for (const connection of connections) connection.close();
  return { ...cost, writes, times: sorted(await Promise.all(waits)) };
}

export interface Exports {
  readonly exported: readonly number[];
  readonly removed: readonly number[];
  /** Writes for each new export, in all clusters together. */
  readonly writes: number;
}

/** Exports services that were there, one after the other, and then takes them back. */
export async function measureExports(joined: Joined, { count, perSecond }: Pace): Promise<Exports> {
  const { set, controller, arrivals, services, clusters } = joined;
  const connections = await Promise.all(set.targets.map((target) => Connection.open(target)));
  await fill(set.targets, joined, { from: services, to: services + count, isExported: false });
  const each = async (
    what: string,
    { until, requests }: { until: number; requests: typeof exportRequests },
  ): Promise<readonly number[]> => {
    const waits: Promise<number>[] = [];
    await paced({ count, perSecond }, async (turn) => {
      const index = services + turn;
      waits.push(arrivals.until(`${what} ${serviceName(index)}`, until));
      for (const request of requests(index, joined)) await ask(connections[index % clusters], request);
    });
    return sorted(await Promise.all(waits));
  };
  const before = await controller.writes();
  const exported = await each('exported', { until: 1, requests: exportRequests });
  await controller.steady();
  const writes = ((await controller.writes()) - before) / count;
  // Gone are the import in each cluster, and the export.
  const removed = await each('gone', { until: importersOf(joined) + 1, requests: unexportRequests });
  for (const connection of connections) connection.close();
  return { exported, removed, writes };
}

/** Does something so often and so fast; what is late is not waited for. */
async function paced({ count, perSecond }: Pace, work: (turn: number) => Promise<void>): Promise<void> {
  const started = performance.now();
  let last = Promise.resolve();
  for (let turn = 0; turn < count; turn++) {
    await delay(Math.max(0, started + (turn * 1000) / perSecond - performance.now()));
    // A connection takes one request at a time.
    last = last.then(() => work(turn));
  }
  await last;
}

/** What it took from nothing. */
export interface Beginning extends Cost {
  /** Until all exports said that they are everywhere. */
  readonly ms: number;
  /** Writes for each service, in all clusters together. */
  readonly writes: number;
}

/** A controller that was started for a measurement, and what came of it. */
export interface Started<T> extends AsyncDisposable {
  readonly controller: Controller;
  readonly figures: T;
}

const beginningMs = 300_000;

/** Begins with nothing written, until all exports are everywhere. */
export async function measureBeginning({
  set,
  arrivals,
  services,
}: Pick<Joined, 'set' | 'arrivals' | 'services'>): Promise<Started<Beginning>> {
  const before = set.cpuSeconds();
  const started = performance.now();
  await using unlessDone = new AsyncDisposableStack();
  const controller = unlessDone.use(await startController(set));
  for (const end = started + beginningMs; arrivals.exported < services; await delay(20)) {
    if (performance.now() > end) throw new Error(`${arrivals.exported} of ${services} exported in ${beginningMs} ms`);
  }
  const ms = performance.now() - started;
  await controller.steady();
  const cost = { controller: controller.cpuSeconds(), clusters: set.cpuSeconds() - before };
  const writes = (await controller.writes()) / services;
  unlessDone.move();
  return startedWith(controller, { ...cost, ms, writes });
}

/** What it took to begin anew. */
export interface Restart {
  /** Until every service was looked at in every cluster. */
  readonly ms: number;
  /** CPU seconds of the controller. */
  readonly cpu: number;
  readonly writes: number;
}

/** Begins anew where everything is written. */
export async function measureRestart(set: Clusters): Promise<Started<Restart>> {
  const started = performance.now();
  const controller = await startController(set);
  await controller.steady();
  const ms = performance.now() - started;
  const figures = { ms, cpu: controller.cpuSeconds(), writes: await controller.writes() };
  return startedWith(controller, figures);
}

const startedWith = <T>(controller: Controller, figures: T): Started<T> => ({
  controller,
  figures,
  [Symbol.asyncDispose]: () => controller[Symbol.asyncDispose](),
});

const sorted = (times: readonly number[]): readonly number[] => times.toSorted((left, right) => left - right);

/** The value below which this share of sorted values is. */
export const percentile = (values: readonly number[], share: number): number =>
  values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
