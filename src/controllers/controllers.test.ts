import assert from 'node:assert/strict';
import { test } from 'node:test';

import { podKind } from '../api/kinds/core/pod/kind.ts';
import { inProcess } from '../client/in-process.ts';
import type { TestServer } from '../server/testing/server.ts';
import { testServer } from '../server/testing/server.ts';
import { until } from '../server/testing/until.ts';
import { TestCluster, quiet } from './testing/cluster.ts';

const user = { name: 'controllers', uid: '', groups: ['system:masters', 'system:authenticated'] };

const clusterOf = (server: TestServer): TestCluster =>
  new TestCluster(() => inProcess((request) => server.handle({ ...request, user })));

test('slices and Endpoints follow the Pods of a Service, and a steady state writes nothing', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await cluster.service('web');
  await cluster.pod('one', 'web', { ip: '10.1.0.1' });
  await using running = cluster.start();
  await running.ready;
  await until('slices of what was there', async () => (await cluster.addresses('web')) === '10.1.0.1');
  const second = await cluster.pod('two', 'web', { ip: '10.1.0.2', ready: false });
  await until('a second Pod', async () => (await cluster.addresses('web')) === '10.1.0.1 10.1.0.2!');
  await until(
    'its Endpoints',
    async () => (await cluster.endpoints('web'))?.subsets?.[0]?.notReadyAddresses?.length === 1,
  );
  await quiet(cluster);
  cluster.takeWrites();
  await quiet(cluster);
  assert.deepEqual(cluster.takeWrites(), []);
  await cluster.setReady(second, { ip: '10.1.0.2' });
  await until('it is ready', async () => (await cluster.addresses('web')) === '10.1.0.1 10.1.0.2');
  await quiet(cluster);
  const [slice] = await cluster.slices('web');
  assert.deepEqual(cluster.takeWrites(), ['200 PUT endpoints/web', `200 PUT endpointslices/${slice?.metadata.name}`]);
  assert.deepEqual(running.problems(), []);
  await cluster.user.delete(podKind, { namespace: 'default', name: 'one' }, { gracePeriodSeconds: 0 });
  await until('one is gone', async () => (await cluster.addresses('web')) === '10.1.0.2');
});
