// What a change, a restart or a hiccup costs: as few writes as there can be, and no loss.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { until } from '../../src/server/testing/until.ts';
import { join, startClusters } from './clusters.ts';
import { joined, reasonOf } from './pair.ts';
import { patientClock, rest, writesOf } from './rest.ts';

describe('what it costs', () => {
  test('an endpoint that changes is one write in each cluster, and rest is rest', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack, { clock: patientClock });
    for (const name of ['web', 'other']) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name);
    }
    await until('it is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await rest([east, west]);
    const before = [writesOf(east), writesOf(west)];
    for (let last = 2; last <= 6; last++) {
      await east.slice('web', [`10.1.0.${last}`]);
      await until('it arrives', async () => (await west.addresses('web'))['east']?.[0] === `10.1.0.${last}`);
      await rest([east, west], 40);
    }
    await rest([east, west]);
    assert.deepEqual(
      [writesOf(east), writesOf(west)].map((count, index) => count - (before[index] ?? 0)),
      [5, 5],
    );
  });

  test('a controller that begins anew writes nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    for (const name of ['web', 'other']) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name);
    }
    const first = stack.use(new AsyncDisposableStack());
    join(clusters, first, { clock: patientClock });
    await until('it is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await rest([east, west]);
    await first.disposeAsync();
    const before = [writesOf(east), writesOf(west)];
    const { part } = join(clusters, stack, { clock: patientClock });
    await part.ready;
    await rest(clusters);
    assert.deepEqual([writesOf(east), writesOf(west)], before);
  });

  test('a cluster that is silent for a moment changes nothing', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joined(stack, { clock: patientClock });
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('it is complete', async () => (await reasonOf(east, 'Exported')) === 'Exported');
    await rest([east, west]);
    const before = [writesOf(east), writesOf(west)];
    west.disconnect();
    await delay(300);
    west.reconnect();
    await rest([east, west]);
    assert.deepEqual([writesOf(east), writesOf(west)], before);
    await east.slice('web', ['10.1.0.2']);
    await until('and it goes on', async () => (await west.addresses('web'))['east']?.[0] === '10.1.0.2');
  });

  test('a source that seems to lose most of what it had at once is waited for (sheet 5.6)', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, part } = await joined(stack, { deletionLimits: { least: 5, holdMs: 600 } });
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    for (const name of names) {
      await east.service(name, ['10.1.0.1']);
      await east.export(name, ['current']);
    }
    const count = async (): Promise<number> =>
      (
        await west.client.list(endpointSliceKind, {
          namespace: 'shop',
          labelSelector: 'multicluster.kubernetes.io/source-cluster=east',
        })
      ).items.length;
    await until('all are there', async () => (await count()) === names.length);
    await Promise.all(
      names.map((name) => east.client.delete(endpointSliceKind, { namespace: 'shop', name: `${name}-abc` })),
    );
    await until('it holds', () => part.problems().some((problem) => problem.startsWith('too much of east')));
    assert.ok((await count()) >= names.length / 2 - 1);
    await until('and goes on', async () => (await count()) === 0);
  });
});
