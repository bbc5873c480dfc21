import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

import type { Clock } from '../../src/client/clock.ts';
import { systemClock } from '../../src/client/clock.ts';
import type { Cluster } from './clusters.ts';

/** A clock that stands still, so that a busy machine does not cause timeouts: waits end, but no time passes. */
export const stoppedClock: Clock = { ...systemClock, elapsed: () => 0 };

/** The number of writes to a cluster, without leases and Events. */
export const writesOf = ({ writes }: Cluster): number =>
  writes.filter(({ path }) => !/\/(leases|events)(\/|$)/.test(path)).length;

/** Resolves after a number of turns of the event loop without a write; time does not matter, since a busy machine may pause. */
export async function untilIdle(clusters: readonly Cluster[], turns = 300): Promise<void> {
  const count = (): number => clusters.reduce((sum, cluster) => sum + writesOf(cluster), 0);
  const end = performance.now() + 60_000;
  for (let [still, before] = [0, -1]; still < turns; still++) {
    if (before !== count()) still = 0;
    before = count();
    assert.ok(performance.now() < end, 'writes do not end');
    await delay(1);
  }
}
