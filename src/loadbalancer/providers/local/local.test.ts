import assert from 'node:assert/strict';
import { test } from 'node:test';

import { testServer } from '../../../server/testing/server.ts';
import { until } from '../../../server/testing/until.ts';
import { clusterOf } from '../../testing/cluster.ts';
import { immediateClock } from '../simulated/testing/storm.ts';
import { parsePool } from './pools.ts';
import { allocationAnnotations } from './allocation-request.ts';

const pools = [parsePool('two=192.0.2.1-192.0.2.2', true)];

test('LB-1 serves TCP, UDP and SCTP on the same port of an address that survives a restart', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  {
    await using running = cluster.start({ pools });
    await running.ready;
    await cluster.create('53/TCP 53/UDP 53/SCTP');
    await until('an address', async () => (await cluster.address()) === '192.0.2.1');
    await cluster.create('80/TCP', { name: 'second' });
    await until('another', async () => (await cluster.address('second')) === '192.0.2.2');
  }
  await using running = cluster.start({ pools });
  await running.ready;
  await cluster.setPorts('second', '81/TCP');
  await until(
    'its ports',
    async () => (await cluster.get('second'))?.status.loadBalancer.ingress?.[0]?.ports?.[0]?.port === 81,
  );
  assert.equal(await cluster.address(), '192.0.2.1');
  assert.equal(await cluster.address('second'), '192.0.2.2');
});

test('reports why no address is free, and allocates one when another Service releases it', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await using running = cluster.start({ pools, clock: immediateClock });
  await running.ready;
  for (const name of ['a', 'b']) {
    await cluster.create('80/TCP', { name });
    await until('an address', () => cluster.address(name));
  }
  await cluster.create('80/TCP', { name: 'c' });
  await until(
    'the condition',
    async () => (await cluster.condition('LoadBalancerPortsError', 'c')) === 'True NoFreeAddress',
  );
  await until('the Event', async () => (await cluster.reasons('c')).includes('AllocationFailed'));
  await cluster.delete('a');
  await until('its address', async () => (await cluster.address('c')) === '192.0.2.1');
  assert.equal(await cluster.condition('LoadBalancerPortsError', 'c'), 'False LoadBalancerPortsServed');
});

test('LB-24 Services share an address with a key; refuses a port in use and keeps open ports', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await using running = cluster.start({ pools });
  await running.ready;
  const annotations = { [allocationAnnotations.sharingKey]: 'dns', [allocationAnnotations.addresses]: '192.0.2.1' };
  await cluster.create('53/TCP', { name: 'tcp', annotations });
  await cluster.create('53/UDP', { name: 'udp', annotations });
  await until(
    'both',
    async () => (await cluster.address('tcp')) === '192.0.2.1' && (await cluster.address('udp')) === '192.0.2.1',
  );
  await cluster.setPorts('udp', '53/UDP 53/TCP');
  await until(
    'refused',
    async () => (await cluster.condition('LoadBalancerPortsError', 'udp')) === 'True AddressInUse',
  );
  const [ingress] = (await cluster.get('udp'))?.status.loadBalancer.ingress ?? [];
  assert.equal(ingress?.ip, '192.0.2.1');
  assert.deepEqual(ingress?.ports, [
    { port: 53, protocol: 'UDP' },
    { port: 53, protocol: 'TCP', error: 'fairlead.dev/AddressInUse' },
  ]);
  assert.match(ingress?.message ?? '', /in use by Service default\/tcp: port 53\/TCP is taken/);
});
