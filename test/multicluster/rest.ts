import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

import type { Clock } from '../../src/client/clock.ts';
import { systemClock } from '../../src/client/clock.ts';
import type { Cluster } from './clusters.ts';

/** A clock by which nobody is ever late, however busy the machine is: waits end, but no time goes by. */
export const patientClock: Clock = { ...systemClock, elapsed: () => 0 };

/** How often a cluster was written to, leases and events left out. */
export const writesOf = ({ writes }: Cluster): number =>
  writes.filter(({ path }) => !/\/(leases|events)(\/|$)/.test(path)).length;

/** Resolves when nothing was written for so many turns of the event loop, of which a machine that stands still has none. */
export async function rest(clusters: readonly Cluster[], turns = 300): Promise<void> {
  const count = (): number => clusters.reduce((sum, cluster) => sum + writesOf(cluster), 0);
  const end = performance.now() + 60_000;
  for (let [still, before] = [0, -1]; still < turns; still++) {
    if (before !== count()) still = 0;
    before = count();
    assert.ok(performance.now() < end, 'they do not come to rest');
    await delay(1);
  }
}
