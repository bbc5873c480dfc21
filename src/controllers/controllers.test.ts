import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { endpointsKind } from '../api/kinds/core/endpoints/kind.ts';
import { eventKind } from '../api/kinds/core/event/kind.ts';
import { nodeKind } from '../api/kinds/core/node/kind.ts';
import { podKind } from '../api/kinds/core/pod/kind.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import { inProcess } from '../client/in-process.ts';
import type { ApiRequest } from '../client/transport.ts';
import type { TestServer } from '../server/testing/server.ts';
import { testServer } from '../server/testing/server.ts';
import { until } from '../server/testing/until.ts';
import { TestCluster, quiet } from './testing/cluster.ts';

const user = { name: 'controllers', uid: '', groups: ['system:masters', 'system:authenticated'] };

const clusterOf = (server: TestServer): TestCluster =>
  new TestCluster(() => inProcess((request) => server.handle({ ...request, user })));

test('updates slices and Endpoints with the Pods of a Service, and writes nothing in a steady state', async () => {
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

test('publishes a Pod when its missing node is created, and records an Event until then', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await using running = cluster.start();
  await running.ready;
  await cluster.service('web');
  await cluster.service('again', { selector: { app: 'web' } });
  await cluster.pod('one', 'web', { ip: '10.1.0.1', node: 'n1' });
  const event = await until('the Event', async () => {
    const { items } = await cluster.user.list(eventKind, { fieldSelector: 'reason=FailedToUpdateEndpointSlices' });
    return items.length === 2 ? items.find(({ involvedObject }) => involvedObject.name === 'web') : undefined;
  });
  assert.equal(event.message, 'Error updating Endpoint Slices for Service default/web: node "n1" not found');
  assert.equal(running.logged.length, 1, 'the node is logged once, and not for each Service');
  assert.equal(await cluster.addresses('web'), '');
  await cluster.node('n1', 'east');
  await until('its endpoint', async () => (await cluster.addresses('web')) === '10.1.0.1');
  assert.equal((await cluster.slices('web'))[0]?.endpoints?.[0]?.zone, 'east');
  const labels = { 'topology.kubernetes.io/zone': 'west' };
  await cluster.user.patch(nodeKind, { name: 'n1' }, { body: { metadata: { labels } } });
  await until('the zone', async () => (await cluster.slices('web'))[0]?.endpoints?.[0]?.zone === 'west');
});

test('mirrors Endpoints of a Service without a selector, and deletes the mirrors with the Endpoints', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await using running = cluster.start();
  await running.ready;
  const metadata = { name: 'db', namespace: 'default' };
  // Created before its Service: the controller must not delete them.
  const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 5432 }] }];
  await cluster.user.create(endpointsKind, { metadata, subsets });
  await quiet(cluster);
  const spec = { ports: [{ port: 5432, protocol: 'TCP' as const }] };
  await cluster.user.create(serviceKind, { metadata, spec, status: { loadBalancer: {} } });
  await until('a mirror', async () => (await cluster.addresses('db')) === '192.0.2.1');
  await cluster.user.patch(endpointsKind, metadata, {
    body: { subsets: [{ ...subsets[0], addresses: [{ ip: '192.0.2.2' }] }] },
  });
  await until('its change', async () => (await cluster.addresses('db')) === '192.0.2.2');
  await cluster.user.delete(endpointsKind, metadata);
  await until('no mirror', async () => (await cluster.slices('db')).length === 0);
});

test('repairs foreign changes of slices and Endpoints', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await cluster.service('web');
  await cluster.pod('one', 'web', { ip: '10.1.0.1' });
  await using running = cluster.start();
  await running.ready;
  await until('a slice', async () => (await cluster.addresses('web')) === '10.1.0.1');
  await until('Endpoints', () => cluster.endpoints('web'));
  const [slice] = await cluster.slices('web');
  assert.ok(slice);
  await cluster.user.update(endpointSliceKind, { ...slice, endpoints: [] });
  await cluster.user.delete(endpointsKind, { namespace: 'default', name: 'web' });
  await until('the slice again', async () => (await cluster.addresses('web')) === '10.1.0.1');
  await until('the Endpoints again', () => cluster.endpoints('web'));
});

test('SRV-4 stops sending srvServiceName to a server that drops it', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await cluster.service('idm', { ports: [{ port: 88, protocol: 'TCP', srvServiceName: 'kerberos' }] });
  await cluster.pod('one', 'idm', { ip: '10.1.0.1' });
  // Simulates a server without the gate: the Service keeps the field, slices and Endpoints lose it.
  const strip = (text: string): string => text.replaceAll('"srvServiceName":"kerberos"', '"ignored":""');
  const injectFault = (call: ApiRequest): void => {
    if (call.body !== undefined) Object.assign(call, { body: strip(call.body) });
  };
  await using running = cluster.start(
    { controllers: ['endpointslice-controller', 'endpoints-controller'] },
    { injectFault },
  );
  await running.ready;
  await until('a slice', async () => (await cluster.addresses('idm')) === '10.1.0.1');
  await until('Endpoints', () => cluster.endpoints('idm'));
  await quiet(cluster, 300);
  assert.deepEqual(cluster.takeWrites(), ['201 POST default/endpoints', '201 POST default/endpointslices']);
});

test('batches changes of Pods for the configured period', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await cluster.service('web');
  await using running = cluster.start({ endpointUpdatesBatchPeriodMs: 1000 });
  await running.ready;
  await until('Endpoints', () => cluster.endpoints('web'));
  await quiet(cluster);
  cluster.takeWrites();
  await Promise.all([1, 2, 3, 4, 5].map((index) => cluster.pod(`p${index}`, 'web', { ip: `10.1.0.${index}` })));
  await until('all five', async () => (await cluster.slices('web'))[0]?.endpoints?.length === 5);
  await until('in Endpoints too', async () => (await cluster.endpoints('web'))?.subsets?.[0]?.addresses?.length === 5);
  await quiet(cluster);
  const [slice] = await cluster.slices('web');
  assert.deepEqual(cluster.takeWrites(), ['200 PUT endpoints/web', `200 PUT endpointslices/${slice?.metadata.name}`]);
});

test('metrics have the names of kube-controller-manager', async () => {
  await using server = await testServer();
  await using running = clusterOf(server).start();
  await running.ready;
  const text = await running.metrics.metrics();
  const names = Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name = '']) => name);
  assert.deepEqual(names.toSorted(), [
    'endpoint_slice_controller_changes',
    'endpoint_slice_controller_desired_endpoint_slices',
    'endpoint_slice_controller_endpoints_added_per_sync',
    'endpoint_slice_controller_endpoints_desired',
    'endpoint_slice_controller_endpoints_removed_per_sync',
    'endpoint_slice_controller_endpointslices_changed_per_sync',
    'endpoint_slice_controller_num_endpoint_slices',
    'endpoint_slice_controller_services_count_by_traffic_distribution',
    'endpoint_slice_controller_syncs',
    'endpoint_slice_mirroring_controller_changes',
    'leader_election_master_status',
    'workqueue_adds_total',
    'workqueue_depth',
    'workqueue_queue_duration_seconds',
    'workqueue_retries_total',
    'workqueue_work_duration_seconds',
  ]);
  const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  for (const name of names) assert.ok(readme.includes(`\`${name}\``), `${name} is in the README`);
});

test('rejects an unknown controller', async () => {
  await using server = await testServer();
  assert.throws(() => clusterOf(server).start({ controllers: ['unknown-controller'] }), /there is no controller/);
});
