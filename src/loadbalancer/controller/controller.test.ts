import assert from 'node:assert/strict';
import { test } from 'node:test';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { fastClock, ManualClock, settled } from '../../client/testing/clocks.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { clusterOf } from '../testing/cluster.ts';
import { RetryError } from './provider.ts';
import { RecordingProvider } from './testing/recording-provider.ts';

test('adds the finalizer before the first call to the cloud and removes it after the last', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  await using running = cluster.run(provider);
  await running.ready;
  await cluster.node('n1');
  await cluster.create('80/TCP 53/UDP');
  await until('an address', async () => (await cluster.address()) === '192.0.2.1');
  assert.deepEqual(provider.calls, ['ensure web held [n1]']);
  const service = await cluster.get();
  assert.deepEqual(service?.status.loadBalancer.ingress?.[0]?.ports, [
    { port: 80, protocol: 'TCP' },
    { port: 53, protocol: 'UDP' },
  ]);
  assert.deepEqual(service?.status.loadBalancer.ingress?.[0]?.portStatuses, [
    { port: 80, protocol: 'TCP', ready: true },
    { port: 53, protocol: 'UDP', ready: true },
  ]);
  await cluster.delete();
  await until('it is gone', async () => (await cluster.get()) === undefined);
  assert.deepEqual(provider.calls, ['ensure web held [n1]', 'remove web']);
  await until('Events report it', async () => (await cluster.reasons()).includes('DeletedLoadBalancer'));
  assert.deepEqual(cluster.writes, ['200 PATCH services/web', '200 PATCH web/status', '200 PATCH services/web']);
  assert.deepEqual(await cluster.reasons(), [
    'EnsuringLoadBalancer',
    'EnsuredLoadBalancer',
    'DeletingLoadBalancer',
    'DeletedLoadBalancer',
  ]);
});

test('a steady state causes no calls and no writes, also after a restart', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  {
    await using running = cluster.run(provider);
    await running.ready;
    await cluster.create('80/TCP');
    await until('an address', () => cluster.address());
    await cluster.patch('web', { metadata: { labels: { a: 'b' } }, spec: { selector: { app: 'x' } } });
    await cluster.quiet();
    assert.equal(provider.calls.length, 1, 'labels and selector are not the load balancer’s');
  }
  const before = cluster.writes.length;
  await using again = cluster.run(provider);
  await again.ready;
  await until('it was called once more', () => provider.calls.length === 2);
  await cluster.quiet();
  assert.equal(cluster.writes.length, before);
});

test('ignores Services of other types and classes', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  await using running = cluster.run(provider);
  await running.ready;
  await cluster.create('80/TCP', { name: 'other', spec: { loadBalancerClass: 'example.org/theirs' } });
  await cluster.create('80/TCP', { name: 'ours', spec: { loadBalancerClass: 'example.org/ours' } });
  await until('ours', () => cluster.address('ours'));
  await cluster.create('80/TCP');
  await until('an address', () => cluster.address());
  await cluster.patch('web', { spec: { type: 'ClusterIP' } });
  await until('let go', async () => (await cluster.get())?.metadata.finalizers === undefined);
  await cluster.quiet();
  assert.deepEqual(provider.calls, ['ensure ours held []', 'ensure web held []', 'remove web']);
  assert.equal((await cluster.get())?.status.loadBalancer.ingress, undefined);
  assert.equal((await cluster.get('other'))?.metadata.finalizers, undefined);
});

test('a Service that is implemented elsewhere keeps its finalizer and gets no status', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  provider.isElsewhere = true;
  await using running = cluster.run(provider);
  await running.ready;
  await cluster.create('80/TCP');
  await until('it was called', () => provider.calls.length === 1);
  await cluster.quiet();
  assert.deepEqual(cluster.writes, ['200 PATCH services/web']);
});

test('retries a failure with an Event, and a RetryError after exactly its delay', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  provider.errors.push(new Error('quota'), new RetryError('being made', 7000));
  const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  await using running = cluster.run(provider, { clock, random: () => 1 });
  await running.ready;
  await cluster.create('80/TCP');
  const called = async (count: number): Promise<void> => {
    await until(`called ${count} times`, () => provider.calls.length === count);
    for (let turn = 0; turn < 20; turn++) await settled();
  };
  await called(1);
  await clock.advance(4999);
  assert.equal(provider.calls.length, 1);
  await clock.advance(1);
  await called(2);
  await clock.advance(6999);
  assert.equal(provider.calls.length, 2);
  await clock.advance(1);
  await called(3);
  await until('an address', () => cluster.address());
  await running[Symbol.asyncDispose]();
  const reasons = await cluster.reasons();
  assert.ok(reasons.includes('SyncLoadBalancerFailed'));
  assert.equal(reasons.at(-1), 'EnsuredLoadBalancer');
});

test('updates backends when nodes are added, deleted or excluded, but not for readiness', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  await using running = cluster.run(provider, { clock: fastClock });
  await running.ready;
  await cluster.create('80/TCP');
  await until('an address', () => cluster.address());
  const last = (want: string) => until(want, () => provider.calls.at(-1) === want);
  await cluster.node('n1');
  await last('nodes web [n1]');
  await cluster.node('n2');
  await last('nodes web [n1 n2]');
  const exclude = { 'node.kubernetes.io/exclude-from-external-load-balancers': '' };
  await cluster.user.patch(nodeKind, { name: 'n1' }, { body: { metadata: { labels: exclude } } });
  await last('nodes web [n2]');
  const conditions = [{ type: 'Ready', status: 'False' }];
  await cluster.user.patch(nodeKind, { name: 'n2' }, { body: { status: { conditions } }, subresource: 'status' });
  provider.errors.push(new Error('busy'));
  await cluster.node('n3');
  await last('ensure web held [n2 n3]');
  await cluster.user.delete(nodeKind, { name: 'n2' });
  await last('nodes web [n3]');
  await running[Symbol.asyncDispose]();
  const reasons = await cluster.reasons();
  for (const reason of ['UnAvailableLoadBalancer', 'UpdatedLoadBalancer', 'UpdateLoadBalancerFailed'])
    assert.ok(reasons.includes(reason), reason);
});

test('updates backends for changed endpoints only if traffic goes to endpoints', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  provider.toEndpoints = ({ metadata }) => metadata.name === 'direct';
  await using running = cluster.run(provider);
  await running.ready;
  const sliceFor = (name: string): EndpointSlice => ({
    metadata: { name: `${name}-1`, namespace: 'default', labels: { [serviceNameLabel]: name } },
    addressType: 'IPv4',
    ports: [{ name: 'tcp-80', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: ['192.0.2.7'], conditions: { ready: true } }],
  });
  for (const name of ['direct', 'by-nodes']) {
    await cluster.create('80/TCP', { name });
    await until('an address', () => cluster.address(name));
    await cluster.user.create(endpointSliceKind, sliceFor(name));
  }
  await until('the provider is called', () => provider.calls.some((line) => line.startsWith('endpoints')));
  const direct = { namespace: 'default', name: 'direct-1' };
  const patch = (body: object): Promise<unknown> => cluster.user.patch(endpointSliceKind, direct, { body });
  await patch({ metadata: { labels: { a: 'b' } } });
  await cluster.quiet();
  await patch({ endpoints: [{ addresses: ['192.0.2.8'], conditions: { ready: true } }] });
  await until('the provider is called again', () => provider.calls.length === 4);
  assert.deepEqual(provider.calls.toSorted(), [
    'endpoints direct [192.0.2.7]',
    'endpoints direct [192.0.2.8]',
    'ensure by-nodes held []',
    'ensure direct held []',
  ]);
});

test('deletes the load balancer of a Service whose finalizer was removed by hand', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  const { metadata } = await cluster.create('80/TCP');
  {
    await using running = cluster.run(provider);
    await running.ready;
    await until('an address', () => cluster.address());
  }
  await cluster.patch('web', { metadata: { finalizers: null } });
  await cluster.user.delete(serviceKind, { namespace: 'default', name: 'web' });
  await until('it is gone', async () => (await cluster.get()) === undefined);
  assert.ok(provider.made.has(metadata.uid ?? ''));
  await using again = cluster.run(provider);
  await again.ready;
  await until('its load balancer is gone', () => provider.made.size === 0);
});

test('LB-22 deletes an orphaned load balancer after a RetryError', async () => {
  await using server = await testServer();
  const provider = new RecordingProvider();
  provider.made.add('uid-of-one-that-went');
  provider.errors.push(new RetryError('a group is still in use', 5000), new RetryError('again', 5000));
  await using running = clusterOf(server).run(provider, { clock: fastClock });
  await running.ready;
  await until('nothing is left', () => provider.made.size === 0 || undefined);
  assert.deepEqual(provider.calls, ['remove gone', 'remove gone', 'remove gone']);
});

test('LB-22 deletes other orphans if one cannot be deleted, and keeps load balancers with a Service', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  provider.made.add('protected').add('uid-of-one-that-went');
  provider.errors.push(new Error('it is not to be deleted'));
  {
    await using running = cluster.run(provider);
    await running.ready;
    await until('one is gone', () => provider.made.size === 1);
    assert.deepEqual([...provider.made], ['protected']);
    await cluster.create('80/TCP');
    await until('an address', () => cluster.address());
  }
  await using again = cluster.run(provider);
  await again.ready;
  await until('the other is gone', () => !provider.made.has('protected'));
  assert.deepEqual([...provider.made], [(await cluster.get())?.metadata.uid]);
});

test('records the Events of a RetryError', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const provider = new RecordingProvider();
  const event = { type: 'Normal', reason: 'LoadBalancerCostChange', message: '+16.43 USD a month' } as const;
  provider.errors.push(new RetryError('it is being set up', 10_000, [event]));
  await using running = cluster.run(provider, { clock: fastClock });
  await running.ready;
  await cluster.create('80/TCP');
  await until('an Event reports it', async () => (await cluster.reasons()).includes('LoadBalancerCostChange'));
  await until('an address', () => cluster.address());
});
