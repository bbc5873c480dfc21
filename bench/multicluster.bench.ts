// Clusters and a controller that joins them, each a process: the time until a change is imported everywhere, its
// cost, and the duration of the first sync and of a restart.
//   node bench/multicluster.bench.ts            3 clusters, 1,000 services of 100 endpoints, 100 changes per second
//   node bench/multicluster.bench.ts 10 1000 100 50
//   node bench/multicluster.bench.ts 100 5000 10 100 5     a service is imported by 5 of 100 clusters

import { setTimeout as delay } from 'node:timers/promises';

import { Arrivals } from './multicluster/arrivals.ts';
import type { Clusters } from './multicluster/clusters.ts';
import { startClusters } from './multicluster/clusters.ts';
import { measureBeginning, measureChanges, measureExports, measureRestart } from './multicluster/measure.ts';
import type { Beginning, Changes, Exports, Joined, Restart } from './multicluster/measure.ts';
import type { Scale } from './multicluster/objects.ts';
import { fill, makeNamespaces } from './multicluster/objects.ts';

/** The results of one set. */
export interface Measured extends Scale {
  readonly perSecond: number;
  readonly beginning: Beginning;
  readonly changes: Changes;
  readonly exports: Exports;
  readonly restart: Restart;
  readonly bytes: number;
}

type Progress = (text: string) => void;

const changeSeconds = 8;
const exportRate = { count: 100, perSecond: 20 };
/** Idle time before memory is read. */
const restMs = 3000;

/** Measures one set of API servers. */
export const measureMulticluster = (
  scale: Scale & { readonly perSecond: number },
  progress: Progress,
): Promise<Measured> =>
  withJoined(scale, progress, async (joined, beginning, report) => ({
    ...scale,
    beginning,
    ...(await measureJoined(joined, scale.perSecond, report)),
  }));

/** Measures only the cost of changes in a set of API servers. */
export const measureCost = (scale: Scale, progress: Progress): Promise<Changes> =>
  withJoined(scale, progress, async (joined, _, report) => {
    report('warming up');
    await measureChanges(joined, { ...costRate, round: 0 });
    report('changes');
    return measureChanges(joined, { ...costRate, round: 1 });
  });

const costRate = { count: 400, perSecond: 50 };

/** Starts API servers with exported services, and a controller that imports them everywhere. */
async function withJoined<T>(
  scale: Scale,
  progress: Progress,
  measure: (joined: Joined, beginning: Beginning, report: Progress) => Promise<T>,
): Promise<T> {
  const report = (text: string): void => progress(`${scale.clusters} clusters, ${scale.services} services: ${text}`);
  report('filling');
  await using set = await startClusters(scale.clusters);
  await makeNamespaces(set.targets, scale);
  await fill(set.targets, scale, { from: 0, to: scale.services, isExported: true });
  using arrivals = await Arrivals.of(set.targets);
  report('from nothing');
  await using first = await measureBeginning({ ...scale, set, arrivals });
  return await measure({ ...scale, set, arrivals, controller: first.controller }, first.figures, report);
}

/** Measures a joined set: changes, exports, and a restart of the controller. */
async function measureJoined(
  joined: Joined,
  perSecond: number,
  report: Progress,
): Promise<Pick<Measured, 'changes' | 'exports' | 'restart' | 'bytes'>> {
  const rate = { perSecond, count: perSecond * changeSeconds };
  report('warming up');
  await measureChanges(joined, { ...rate, count: rate.count / 2, round: 0 });
  report('changes');
  const changes = await measureChanges(joined, { ...rate, round: 1 });
  report('exports');
  const exports = await measureExports(joined, exportRate);
  await delay(restMs);
  const bytes = joined.controller.residentBytes();
  report('restart');
  const restart = await restarted(joined.set, joined);
  return { changes, exports, restart, bytes };
}

async function restarted(set: Clusters, { controller }: Joined): Promise<Restart> {
  await controller[Symbol.asyncDispose]();
  await using second = await measureRestart(set);
  return second.figures;
}

if (import.meta.main) {
  const [clusters = 3, services = 1000, endpoints = 100, perSecond = 100, importers = clusters] = process.argv
    .slice(2)
    .map(Number);
  const { rowsOf } = await import('./multicluster/rows.ts');
  const { table } = await import('./table.ts');
  const measured = await measureMulticluster({ clusters, services, endpoints, perSecond, importers }, (text) =>
    console.error(text),
  );
  console.log(table(['', 'measured'], rowsOf([{ measured }])));
  process.exit(0); // connections of watches are left open
}
