// Condition `Exported` is a promise: when it is true, every cluster has the endpoints.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { until } from '../../src/server/testing/until.ts';
import { join, startClusters } from './clusters.ts';

const isOfSlices = ({ path }: { readonly path: string }): boolean => path.endsWith('/endpointslices');

test('MCS-20 a service whose endpoints are read late is exported once they are imported', async () => {
  await using stack = new AsyncDisposableStack();
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  await join([east, west], stack).part.ready;
  const late = Promise.withResolvers<void>();
  stack.defer(() => late.resolve());
  east.faultLine = (call) => (isOfSlices(call) ? late.promise : undefined);
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('the service is imported', async () => (await west.serviceImport('web')) !== undefined);
  await until(
    'the export is accepted',
    async () => (await east.conditions('web', 'supercluster'))['Initialized'] === 'True',
  );
  await delay(100); // time for a premature condition
  assert.equal((await east.conditions('web', 'supercluster'))['Exported'], 'False');
  assert.equal((await east.conditions('web', 'clusterset'))['Ready'], 'False');
  late.resolve();
  await until(
    'the export succeeded',
    async () => (await east.conditions('web', 'supercluster'))['Exported'] === 'True',
  );
  assert.deepEqual(await west.addresses('web'), { east: ['10.1.0.1'] });
});

test('MCS-20 Exported waits for endpoints that a slow member has not written yet', async () => {
  await using stack = new AsyncDisposableStack();
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  await join([east, west], stack).part.ready;
  const late = Promise.withResolvers<void>();
  stack.defer(() => late.resolve());
  east.faultLine = (call) => (isOfSlices(call) ? delay(50) : undefined);
  west.fault = (call) => (isOfSlices(call) || call.path.includes('/endpointslices/') ? late.promise : undefined);
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('east has its own slice', async () => (await east.imported('web')).length === 1);
  await delay(100); // time for a premature condition
  assert.equal((await east.conditions('web', 'supercluster'))['Exported'], 'False');
  late.resolve();
  await until(
    'the export succeeded',
    async () => (await east.conditions('web', 'supercluster'))['Exported'] === 'True',
  );
  assert.deepEqual(await west.addresses('web'), { east: ['10.1.0.1'] });
});
