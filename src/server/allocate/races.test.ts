import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isStatusError } from '../../api/errors.ts';
import { openMemoryStore } from '../../store/memory/memory.ts';
import { Cluster, messageOf, options, serviceWith } from './testing/cluster.ts';
import type { Plan } from './service-allocator.ts';

const ports = [{ port: 80 }];
const cidrs = ['10.0.0.0/24'];

const planned = ({ allocator }: Cluster, name: string, clusterIP = ''): Plan =>
  allocator.planCreate(serviceWith(name, { type: 'NodePort', ports, clusterIP }), options);

test('concurrent plans of one server choose different values', async () => {
  await using cluster = await Cluster.open(cidrs);
  const first = planned(cluster, 'first');
  const second = planned(cluster, 'second');
  assert.deepEqual(
    [first, second].map(({ service }) => service.spec.clusterIP),
    ['10.0.0.17', '10.0.0.18'],
  );
  const taken = messageOf(() => planned(cluster, 'third', '10.0.0.17'));
  assert.match(taken, /failed to allocate IP 10\.0\.0\.17: provided IP is already allocated$/);
});

test('settling a plan without a commit releases its reservations, once', async () => {
  await using cluster = await Cluster.open(cidrs);
  const plan = planned(cluster, 'first');
  plan.settle();
  assert.equal(planned(cluster, 'second').service.spec.clusterIP, '10.0.0.17');
  plan.settle();
  assert.equal(planned(cluster, 'third').service.spec.clusterIP, '10.0.0.18');
});

test('retries a dynamic plan when another server created the claim first', async () => {
  await using here = await Cluster.open(cidrs);
  await using there = await Cluster.open(cidrs, here.store);
  const lost = planned(here, 'here');
  await there.commit(planned(there, 'there'));
  const result = await here.store.commit(lost.writes);
  assert.equal(result.ok, false);
  assert.equal(result.ok ? '' : lost.conflictFor(result.key), 'retry');
  assert.equal(lost.conflictFor('/registry/services/shop/here'), undefined);
  lost.settle();

  const { spec } = await here.commit(planned(here, 'here'));
  assert.deepEqual([spec.clusterIP, spec.ports?.[0]?.nodePort], ['10.0.0.18', 30017]);
});

test('returns an error when another server allocated the requested value first', async () => {
  await using here = await Cluster.open(cidrs);
  await using there = await Cluster.open(cidrs, here.store);
  const lost = planned(here, 'here', '10.0.0.5');
  await there.commit(planned(there, 'there', '10.0.0.5'));
  const result = await here.store.commit(lost.writes);
  const answer = result.ok ? undefined : lost.conflictFor(result.key);
  assert.ok(isStatusError(answer));
  assert.equal(
    answer.message,
    'Service "here" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.5"]: failed to allocate IP 10.0.0.5: provided IP is already allocated',
  );
  lost.settle();
  assert.equal(here.allocator.metrics().clusterIps[0]?.allocated, 1);
});

test('keeps a claim that another Service got after it was deleted by hand', async () => {
  await using cluster = await Cluster.open(cidrs);
  const first = await cluster.create('first', { type: 'NodePort', ports });
  await cluster.store.commit([
    { key: '/registry/networking.k8s.io/ipaddresses/10.0.0.17', value: undefined },
    { key: '/registry/nodeports/30016', value: undefined },
  ]);
  await cluster.create('second', { type: 'NodePort', ports });
  const held = await cluster.claims();
  await cluster.delete(first);
  assert.deepEqual(await cluster.claims(), held);
});

test('releases a claim that changed since it was read when the deletion is planned again', async () => {
  await using cluster = await Cluster.open(cidrs);
  const service = await cluster.create('web', { type: 'ClusterIP', ports });
  const writes = cluster.allocator.planDelete(service);
  const key = '/registry/networking.k8s.io/ipaddresses/10.0.0.17';
  const claim = await cluster.store.get(key);
  await cluster.store.commit([{ key, value: claim?.value.replace('"labels":{', '"labels":{"a":"b",') }]);
  const result = await cluster.store.commit(writes);
  assert.deepEqual([result.ok, !result.ok && result.key], [false, key]);
  await cluster.delete(service);
  assert.deepEqual(await cluster.claims(), []);
});

test('releases a claim whose creation has not arrived yet', async () => {
  await using here = await Cluster.open(cidrs);
  await using behind = await Cluster.open(cidrs, here.store);
  await behind.allocator.close(); // receives no changes from now on
  const service = await here.create('web', { type: 'NodePort', ports });
  await behind.delete(service);
  assert.deepEqual(await here.claims(), []);
  assert.equal(here.allocator.metrics().nodePorts.allocated, 0);
});

test('a new server loads the claims of the others', async () => {
  const store = openMemoryStore();
  await using first = await Cluster.open(cidrs, store);
  await first.create('web', { type: 'NodePort', ports });
  await using second = await Cluster.open(cidrs, store);
  assert.equal(planned(second, 'next').service.spec.clusterIP, '10.0.0.18');
  assert.equal(planned(second, 'other').service.spec.ports?.[0]?.nodePort, 30018);
});
