// Measures controllers as a separate process with our server: duration and CPU from no slices to all
// of them, for one change of a Pod, and for a change of every tenth Pod.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Result } from './api.bench.ts';
import type { Scale } from './controllers/cluster.ts';
import { changePods, fill, podsPerService } from './controllers/cluster.ts';
import type { Program } from './controllers/programs.ts';
import { startFairlead } from './fairlead.ts';
import { kubeconfigFor } from './kubeconfig.ts';
import { cpuSecondsOf, residentBytesOf, settled, stopAll } from './process.ts';
import type { Running } from './process.ts';
import { WatchCount } from './watch-count.ts';

const managed = encodeURIComponent('endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io');

/** Measures one program with a number of Services of ten Pods each, on a new server. */
export async function measureControllers(
  program: Program,
  scale: Scale,
  progress: (text: string) => void,
): Promise<Result[]> {
  const server = await startFairlead();
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  const stops: (() => Promise<void>)[] = [];
  try {
    progress(`${program.name}: filling the cluster`);
    await fill(server.target, scale);
    const slices = await WatchCount.open(
      server.target,
      `/apis/discovery.k8s.io/v1/endpointslices?labelSelector=${managed}`,
    );
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(kubeconfig, kubeconfigFor(server.target));
    progress(`${program.name}: from empty`);
    const before = server.cpuSeconds();
    const started = performance.now();
    const child = program.start(kubeconfig);
    stops.push(() => stopAll([child]));
    const pid = child.pid ?? 0;
    // Services of the server itself have slices that controllers do not write.
    await slices.until(() => slices.added >= scale.services);
    const seconds = (performance.now() - started) / 1000;
    await settled(() => server.cpuSeconds() + cpuSecondsOf([pid]));
    const cost = { own: cpuSecondsOf([pid]), theirs: server.cpuSeconds() - before };
    const measured = { server, slices, pid, scale };
    progress(`${program.name}: one change`);
    const change = await measureChanges({ ...measured, count: 1 });
    progress(`${program.name}: a rolling change`);
    const rolling = await measureChanges({ ...measured, count: scale.services });
    await new Promise((resolve) => setTimeout(resolve, restMs));
    return resultsOf({ seconds, cost, change, rolling, bytes: residentBytesOf([pid]) }, scale);
  } finally {
    for (const stop of stops) await stop();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Idle time before memory is read: both release some when they are idle. */
const restMs = 5000;

interface Cost {
  /** CPU seconds of the program. */
  readonly own: number;
  /** CPU seconds of the server in the same time. */
  readonly theirs: number;
}

interface Measured {
  readonly seconds: number;
  readonly cost: Cost;
  readonly change: Changed;
  readonly rolling: Changed;
  readonly bytes: number;
}

function resultsOf({ seconds, cost, change, rolling, bytes }: Measured, { services }: Scale): Result[] {
  const name = `${services.toLocaleString('en')} Services, ${(services * podsPerService).toLocaleString('en')} Pods`;
  const cpu = (what: string, { own, theirs }: Cost): Result[] => [
    { name: `${name}: CPU ${what}, in all`, value: (own + theirs) * 1000, unit: 'ms' },
    { name: `${name}: CPU ${what}, the controllers`, value: own * 1000, unit: 'ms' },
    { name: `${name}: CPU ${what}, the server`, value: theirs * 1000, unit: 'ms' },
  ];
  return [
    { name: `${name}: all slices from empty`, value: seconds * 1000, unit: 'ms' },
    ...cpu('from empty', cost),
    { name: `${name}: change of one Pod until its slice is observed`, value: change.ms, unit: 'ms' },
    { name: `${name}: writes of slices for it`, value: change.writes, unit: '' },
    { name: `${name}: a tenth of the Pods change`, value: rolling.ms, unit: 'ms' },
    { name: `${name}: writes of slices for that`, value: rolling.writes, unit: '' },
    ...cpu('for a tenth of the Pods', rolling),
    { name: `${name}: memory at rest`, value: bytes / 1e6, unit: 'MB' },
  ];
}

interface Changed extends Cost {
  readonly ms: number;
  readonly writes: number;
}

interface Change {
  readonly server: Running;
  readonly slices: WatchCount;
  readonly pid: number;
  readonly count: number;
  readonly scale: Scale;
}

/** Duration and CPU until the slices of `count` Services, each with one ready Pod less, are observed. */
async function measureChanges({ server, slices, pid, count, scale }: Change): Promise<Changed> {
  const before = { own: cpuSecondsOf([pid]), theirs: server.cpuSeconds(), writes: slices.modified };
  const started = await changePods(server.target, count, scale);
  await slices.until(() => slices.modified - before.writes >= count);
  const ms = performance.now() - started;
  await settled(() => server.cpuSeconds() + cpuSecondsOf([pid]));
  return {
    ms,
    writes: slices.modified - before.writes,
    own: cpuSecondsOf([pid]) - before.own,
    theirs: server.cpuSeconds() - before.theirs,
  };
}
