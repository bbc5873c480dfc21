// What `fairlead mcs status` tells of a service that is not everywhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure } from '../../src/api/errors.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { triggerTimeAnnotation } from '../../src/api/kinds/discovery/endpointslice/labels.ts';
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

test('F6 status tells for how long a cluster lacks what has changed in another', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [east, west] = clusters;
  assert.ok(east && west);
  await join(clusters, stack).part.ready;
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('west has it', async () => (await west.imported('web')).length === 1);
  const status = async (): Promise<ReturnType<typeof showStatus>> => {
    await using snapshot = await takeSnapshot(clusters.map(entryOf), 'Withdraw');
    return showStatus(snapshot, 'shop/web');
  };
  const inSync = async (): Promise<boolean> => (await status()).isWell;
  await until('all are in sync', inSync);
  assert.match(JSON.stringify((await status()).value), /"cluster":"west"[^}]*"pending":0,"lagSeconds":0,/);
  west.fault = ({ method, path }) => {
    if (method !== 'GET' && path.includes('/endpointslices')) throw new Error('connect ECONNREFUSED');
  };
  const slice = await east.client.get(endpointSliceKind, { namespace: 'shop', name: 'web-abc' });
  const annotations = { [triggerTimeAnnotation]: new Date(Date.now() - 75_000).toISOString() };
  const endpoints = [{ addresses: ['10.1.0.2'], conditions: { ready: true } }];
  await east.client.update(endpointSliceKind, { ...slice, metadata: { ...slice.metadata, annotations }, endpoints });
  await until('east has it', async () => (await east.addresses('web'))['east']?.[0] === '10.1.0.2');
  const { lines, value } = await status();
  assert.match(lines.find((line) => line.includes(' west ')) ?? '', / 1 write behind, for (7|8)\ds$/);
  assert.match(JSON.stringify(value), /"cluster":"west"[^}]*"pending":1,"lagSeconds":(7|8)/);
  west.reconnect();
  await until('west has caught up', inSync);
});
