// `fairlead mcs status` for services that are not in sync everywhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure } from '../../src/api/errors.ts';
import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { triggerTimeAnnotation } from '../../src/api/kinds/discovery/endpointslice/labels.ts';
import type { CommandOutput } from '../../src/cli/mcs/show.ts';
import { showStatus } from '../../src/cli/mcs/status.ts';
import { takeSnapshot } from '../../src/multicluster/inspect.ts';
import { leaseName, leaseNamespace } from '../../src/multicluster/lease/lease.ts';
import { until } from '../../src/server/testing/until.ts';
import { entryOf, join, startClusters } from './clusters.ts';
import { joined } from './pair.ts';

test('MCS-23 status shows the error of a lagging cluster, and the generation of imports', async () => {
  await using stack = new AsyncDisposableStack();
  const { east, west } = await joined(stack);
  const clusters = [east, west];
  west.fault = ({ method, path }) => {
    if (method !== 'GET' && path.includes('/serviceimports'))
      throw failure({ code: 403, reason: 'Forbidden', message: 'no way' });
  };
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('the status shows the error', async () => {
    await using snapshot = await takeSnapshot(clusters.map(entryOf), { conflictPolicy: 'Withdraw' });
    const { lines, value, isWell } = showStatus(snapshot, 'shop/web');
    if (!lines.some((line) => line === 'shop/web of east: cluster west rejects the import: no way')) return false;
    assert.equal(isWell, false);
    assert.match(JSON.stringify(value), /"cluster":"east"[^}]*"generation":1/);
    return true;
  });
});

test('status shows for how long a cluster has been behind another', async () => {
  await using stack = new AsyncDisposableStack();
  const { east, west } = await joined(stack);
  const clusters = [east, west];
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('west imports it', async () => (await west.imported('web')).length === 1);
  const status = async (): Promise<CommandOutput> => {
    await using snapshot = await takeSnapshot(clusters.map(entryOf), { conflictPolicy: 'Withdraw' });
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
  await until('east has the change', async () => (await east.addresses('web'))['east']?.[0] === '10.1.0.2');
  const { lines, value } = await status();
  assert.match(lines.find((line) => line.includes(' west ')) ?? '', / 1 write behind, for (7|8)\ds$/);
  assert.match(JSON.stringify(value), /"cluster":"west"[^}]*"pending":1,"lagSeconds":(7|8)/);
  west.reconnect();
  await until('west has caught up', inSync);
});

test('MCS-80 status shows which sources are late or lost, and the effect on their endpoints', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [east, west] = clusters;
  assert.ok(east && west);
  const controller = stack.use(new AsyncDisposableStack());
  await join(clusters, controller).part.ready;
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('west imports it', async () => (await west.imported('web')).length === 1);
  const leases = ['east', 'west'].map((id) => ({ namespace: leaseNamespace, name: leaseName(id) }));
  for (const name of leases) await until('with leases', () => west.client.find(leaseKind, name));
  await controller.disposeAsync();
  east.disconnect();

  /** Sets the leases as if west was renewed now, and east some time before. */
  const renew = async (secondsBefore: number): Promise<void> => {
    for (const [index, ageMs] of [secondsBefore * 1000, 0].entries()) {
      const renewTime = new Date(nextHour - ageMs).toISOString().replace('Z', '000Z');
      const body = { spec: { renewTime, leaseDurationSeconds: 15 } };
      await west.client.patch(leaseKind, leases[index] ?? assert.fail(), { body });
    }
  };
  const stateIn = async (id: string): Promise<string> => {
    await using snapshot = await takeSnapshot(clusters.map(entryOf), { conflictPolicy: 'Withdraw' });
    const { lines } = showStatus(snapshot, 'shop/web');
    return lines.find((line) => line.includes(`  ${id}  `))?.replace(/.*\d\/\d +/, '') ?? '';
  };
  await renew(9);
  assert.equal(await stateIn('west'), 'in sync');
  await renew(11);
  assert.equal(await stateIn('west'), 'in sync; east is late, its endpoints are still used');
  assert.equal(await stateIn('east'), 'cannot be read');
  const [slice] = await west.imported('web');
  assert.ok(slice);
  const conditions = { ready: false, serving: true, terminating: true };
  const endpoints = (slice.endpoints ?? []).map((endpoint) => ({ ...endpoint, conditions }));
  await west.client.update(endpointSliceKind, { ...slice, endpoints });
  assert.equal(await stateIn('west'), 'in sync; east is late, its endpoints are used as a last resort');
  await west.client.delete(endpointSliceKind, { namespace: 'shop', name: slice.metadata.name ?? '' });
  await renew(16);
  assert.equal(await stateIn('west'), 'in sync; east is lost, its endpoints are deleted');
});

/** Later than any clock of the test, so that the newest lease counts as renewed just now. */
const nextHour = Date.now() + 3_600_000;
