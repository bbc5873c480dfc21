// What `fairlead mcs status` tells of a service that is not everywhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure } from '../../src/api/errors.ts';
import { showStatus } from '../../src/cli/mcs/show.ts';
import { takeSnapshot } from '../../src/cli/mcs/snapshot.ts';
import { until } from '../../src/server/testing/until.ts';
import { entryOf, join, startClusters } from './clusters.ts';

test('MCS-23 status tells what a cluster that lags answers, and the generation of imports', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [east, west] = clusters;
  assert.ok(east && west);
  await join(clusters, stack).part.ready;
  west.fault = ({ method, path }) => {
    if (method !== 'GET' && path.includes('/serviceimports'))
      throw failure({ code: 403, reason: 'Forbidden', message: 'no way' });
  };
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('the status says so', async () => {
    await using snapshot = await takeSnapshot(clusters.map(entryOf), 'Withdraw');
    const { lines, value, isWell } = showStatus(snapshot, 'shop/web');
    if (!lines.some((line) => line === 'shop/web of east: cluster west does not take it: no way')) return false;
    assert.equal(isWell, false);
    assert.match(JSON.stringify(value), /"cluster":"east"[^}]*"generation":1/);
    return true;
  });
});
