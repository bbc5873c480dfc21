// What `fairlead mcs plan` tells before anything is done.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { showPlan } from '../../src/cli/mcs/show.ts';
import { takeSnapshot } from '../../src/cli/mcs/snapshot.ts';
import { entryOf, startClusters } from './clusters.ts';

test('F1 a plan tells that an export would be beyond the quota of its cluster', async () => {
  await using stack = new AsyncDisposableStack();
  const [east] = await startClusters(['east'], stack);
  assert.ok(east);
  for (const name of ['old', 'web']) await east.service(name, ['10.1.0.1']);
  await east.export('old');
  await using snapshot = await takeSnapshot([{ ...entryOf(east, 0), policy: { maxExports: 1 } }], 'Withdraw');
  const planOf = (name: string) => showPlan(snapshot, `shop/${name}`, { verb: 'export', cluster: 'east' });
  assert.deepEqual(planOf('web').lines, [
    'shop/web',
    '  nothing would be exported: cluster east may export 1 services and has older ones: withdraw one, or raise its quota',
  ]);
  assert.equal(planOf('old').isWell, true);
});
