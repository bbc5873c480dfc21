// Measures cost and latency of a set of clusters, step by step.

import { setTimeout as delay } from 'node:timers/promises';

import { Connection } from '../client.ts';
import type { Arrivals } from './arrivals.ts';
import type { Clusters } from './clusters.ts';
import type { Controller } from './controller.ts';
import { startController } from './controller.ts';
import type { Scale } from './objects.ts';
import { ask, changeRequest, exportRequests, fill, importersOf, serviceName, unexportRequests } from './objects.ts';

/** CPU seconds of the controller, and of the clusters in the same time. */
export interface Cost {
  readonly controller: number;
  readonly clusters: number;
}

/** Clusters, the controller that joins them, and the watches. */
export interface Joined extends Scale {
  readonly set: Clusters;
  readonly controller: Controller;
  readonly arrivals: Arrivals;
}

/** Cost and duration. */
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
  /** Time until each change was in all clusters, sorted. */
  readonly times: readonly number[];
  /** Writes per change in each cluster. */
  readonly writes: number;
}

/** Number and rate. */
export interface ChangeRate {
  readonly count: number;
  readonly perSecond: number;
}

/** Changes endpoints of one service after the other; each `round` uses other addresses. */
export async function measureChanges(
  joined: Joined,
  { round, count, perSecond }: ChangeRate & { readonly round: number },
): Promise<Changes> {
  const { set, controller, arrivals, services, clusters } = joined;
  const connections = await Promise.all(set.targets.map((target) => Connection.open(target)));
  const waits: Promise<number>[] = [];
  const before = await controller.writes();
  const cost = await costOf(joined, async () => {
    await atRate({ count, perSecond }, async (turn) => {
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
  /** Writes per new export, in all clusters together. */
  readonly writes: number;
}

/** Exports existing services one after the other, and then deletes the exports. */
export async function measureExports(joined: Joined, { count, perSecond }: ChangeRate): Promise<Exports> {
  const { set, controller, arrivals, services, clusters } = joined;
  const connections = await Promise.all(set.targets.map((target) => Connection.open(target)));
  await fill(set.targets, joined, { from: services, to: services + count, isExported: false });
  const each = async (
    what: string,
    { until, requests }: { until: number; requests: typeof exportRequests },
  ): Promise<readonly number[]> => {
    const waits: Promise<number>[] = [];
    await atRate({ count, perSecond }, async (turn) => {
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
  // Deleted are the import in each cluster, and the export.
  const removed = await each('gone', { until: importersOf(joined) + 1, requests: unexportRequests });
  for (const connection of connections) connection.close();
  return { exported, removed, writes };
}

/** Runs work at a fixed rate, without waiting for late results. */
async function atRate({ count, perSecond }: ChangeRate, work: (turn: number) => Promise<void>): Promise<void> {
  const started = performance.now();
  let last = Promise.resolve();
  for (let turn = 0; turn < count; turn++) {
    await delay(Math.max(0, started + (turn * 1000) / perSecond - performance.now()));
    // A connection takes one request at a time.
    last = last.then(() => work(turn));
  }
  await last;
}

/** The cost of the first sync. */
export interface Beginning extends Cost {
  /** Time until all exports are complete. */
  readonly ms: number;
  /** Writes per service, in all clusters together. */
  readonly writes: number;
}

/** A controller that was started for a measurement, and its results. */
export interface Started<T> extends AsyncDisposable {
  readonly controller: Controller;
  readonly figures: T;
}

const beginningMs = 300_000;

/** Starts without imports, and waits until all exports are complete. */
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

/** The cost of a restart. */
export interface Restart {
  /** Time until every service was reconciled in every cluster. */
  readonly ms: number;
  /** CPU seconds of the controller. */
  readonly cpu: number;
  readonly writes: number;
}

/** Restarts the controller with all imports in place. */
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

/** The quantile of sorted values. */
export const percentile = (values: readonly number[], share: number): number =>
  values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
