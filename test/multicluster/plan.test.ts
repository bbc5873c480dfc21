// The output of `fairlead mcs plan` before a change.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { showExplanation, showPlan } from '../../src/cli/mcs/show.ts';
import { takeSnapshot } from '../../src/multicluster/inspect.ts';
import { until } from '../../src/server/testing/until.ts';
import { entryOf, startClusters } from './clusters.ts';
import { joined } from './pair.ts';

test('a plan reports that an export would exceed the quota of its cluster', async () => {
  await using stack = new AsyncDisposableStack();
  const [east] = await startClusters(['east'], stack);
  assert.ok(east);
  for (const name of ['old', 'web']) await east.service(name, ['10.1.0.1']);
  await east.export('old');
  await using snapshot = await takeSnapshot([{ ...entryOf(east, 0), policy: { maxExports: 1 } }], {
    conflictPolicy: 'Withdraw',
  });
  const planOf = (name: string) => showPlan(snapshot, `shop/${name}`, { verb: 'export', cluster: 'east' });
  assert.deepEqual(planOf('web').lines, [
    'shop/web',
    '  nothing would be exported: cluster east may export 1 services and has older exports: withdraw one, or raise its quota',
  ]);
  assert.equal(planOf('old').isWell, true);
});

test('a plan deletes nothing because of an unreadable cluster, and fails for that cluster', async () => {
  await using stack = new AsyncDisposableStack();
  const { east, west } = await joined(stack);
  const clusters = [east, west];
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('west imports it', async () => (await west.imported('web')).length === 1);
  await west.service('web', ['10.2.0.1']);
  east.disconnect();
  await using snapshot = await takeSnapshot(clusters.map(entryOf), { conflictPolicy: 'Withdraw' });
  const planOf = (cluster: string) => showPlan(snapshot, 'shop/web', { verb: 'export', cluster });
  assert.match(planOf('west').lines.join('\n'), /^ {2}west .* 1 created, \d changed, 0 deleted$/m);
  assert.throws(() => planOf('east'), {
    message: /^cannot plan an export: requests to cluster east fail: /,
  });
  assert.match(showExplanation(snapshot, 'shop/web').lines.join('\n'), /no cluster that can be read exports it/);
});
