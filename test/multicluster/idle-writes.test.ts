// A change, a restart or an interruption causes the fewest possible writes, and no loss.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { until } from '../../src/server/testing/until.ts';
import { join, startClusters } from './clusters.ts';
import { joined, reasonOf } from './pair.ts';
import { stoppedClock, untilIdle, writesOf } from './until-idle.ts';

describe('writes', () => {
  test('a changed endpoint is one write in each cluster, and an idle controller writes nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack, { clock: stoppedClock });
    for (const name of ['web', 'other']) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name);
    }
    await until('the export is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await untilIdle([east, west]);
    const before = [writesOf(east), writesOf(west)];
    for (let last = 2; last <= 6; last++) {
      await east.slice('web', [`10.1.0.${last}`]);
      await until(
        'the change is imported',
        async () => (await west.addresses('web'))['east']?.[0] === `10.1.0.${last}`,
      );
      await untilIdle([east, west], 40);
    }
    await untilIdle([east, west]);
    assert.deepEqual(
      [writesOf(east), writesOf(west)].map((count, index) => count - (before[index] ?? 0)),
      [5, 5],
    );
  });

  test('a restarted controller writes nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    for (const name of ['web', 'other']) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name);
    }
    const first = stack.use(new AsyncDisposableStack());
    join(clusters, first, { clock: stoppedClock });
    await until('the export is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await untilIdle([east, west]);
    await first.disposeAsync();
    const before = [writesOf(east), writesOf(west)];
    const { part } = join(clusters, stack, { clock: stoppedClock });
    await part.ready;
    await untilIdle(clusters);
    assert.deepEqual([writesOf(east), writesOf(west)], before);
  });

  test('a short silence of a cluster changes nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack, { clock: stoppedClock });
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the export is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await untilIdle([east, west]);
    const before = [writesOf(east), writesOf(west)];
    west.disconnect();
    await delay(300);
    west.reconnect();
    await untilIdle([east, west]);
    assert.deepEqual([writesOf(east), writesOf(west)], before);
    await east.slice('web', ['10.1.0.2']);
    await until('later changes are imported', async () => (await west.addresses('web'))['east']?.[0] === '10.1.0.2');
  });

  test('deletions are delayed if a source seems to lose most of its exports at once', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, part } = await joined(stack, { deletionLimits: { least: 5, holdMs: 600 } });
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    for (const name of names) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name, ['clusterset']);
    }
    const count = async (): Promise<number> =>
      (
        await west.client.list(endpointSliceKind, {
          namespace: 'shop',
          labelSelector: 'multicluster.kubernetes.io/source-cluster=east',
        })
      ).items.length;
    await until('all services are imported', async () => (await count()) === names.length);
    await Promise.all(
      names.map((name) => east.client.delete(endpointSliceKind, { namespace: 'shop', name: `${name}-abc` })),
    );
    await until('deletions are delayed', () =>
      part.problems().some((problem) => problem.startsWith('too much of east')),
    );
    assert.ok((await count()) >= names.length / 2 - 1);
    await until('deletions continue', async () => (await count()) === 0);
  });
});
