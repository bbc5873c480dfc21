import assert from 'node:assert/strict';
import { test } from 'node:test';

import { testServer } from '../../../server/testing/server.ts';
import { until } from '../../../server/testing/until.ts';
import { clusterOf } from '../../testing/cluster.ts';
import { clouds } from '../../clouds/clouds.ts';
import { runStorm, inconsistencies } from './testing/storm.ts';

const simulate = (cloud: string, era: '2020-07' | 'today' = 'today') => ({ simulation: { cloud, era } });

test('LB-3 LB-4 LB-5 LB-6 a cloud without mixed protocols refuses, reports it, and sets up the load balancer when the cause is gone', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await using running = cluster.start(simulate('digitalocean', '2020-07'));
  await running.ready;
  await cluster.create('80/TCP 81/UDP');
  await until('the condition', async () => (await cluster.condition('LoadBalancerPortsError')) !== undefined);
  const reason = 'LoadBalancerMixedProtocolNotSupported';
  assert.equal(await cluster.condition('LoadBalancerPortsError'), `True ${reason}`);
  assert.equal(await cluster.condition(reason), `True ${reason}`);
  assert.deepEqual(await cluster.balancers(), []);
  const { ingress } = (await cluster.get())?.status.loadBalancer ?? {};
  assert.deepEqual(
    ingress?.map(({ ip, hostname, ports }) => ({ ip, hostname, ports })),
    [
      {
        ip: undefined,
        hostname: undefined,
        ports: [
          { port: 80, protocol: 'TCP', error: 'MixedProtocolNotSupported' },
          { port: 81, protocol: 'UDP', error: 'fairlead.dev/UnsupportedProtocol' },
        ],
      },
    ],
    'LB-3 every port has its status although there is no address',
  );
  assert.deepEqual(
    ingress?.[0]?.portStatuses?.map(({ ready }) => ready),
    [false, false],
  );
  const message = (await cluster.get())?.status.conditions?.[0]?.message ?? '';
  assert.match(message, /ports: 80\/TCP MixedProtocolNotSupported, 81\/UDP fairlead\.dev\/UnsupportedProtocol/);
  await until('the Events', async () => (await cluster.reasons()).includes('SyncLoadBalancerFailed'));
  assert.ok((await cluster.reasons()).includes(reason));
  await cluster.setPorts('web', '80/TCP');
  await until('an address', () => cluster.address());
  assert.equal(await cluster.condition('LoadBalancerPortsError'), 'False LoadBalancerPortsServed');
  assert.equal(await cluster.condition(reason), 'False LoadBalancerPortsServed');
  assert.equal((await cluster.balancers()).length, 1);
});

test('LB-3 a refused Service has no ingress entry if that is disabled', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await using running = cluster.start({ ...simulate('gce'), isRefusalAnEntry: false });
  await running.ready;
  await cluster.create('80/TCP 81/UDP');
  await until('the condition', async () => (await cluster.condition('LoadBalancerPortsError'))?.startsWith('True'));
  assert.equal((await cluster.get())?.status.loadBalancer.ingress, undefined);
});

test('LB-3 LB-5 a refused change keeps the open ports of a load balancer', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  await using running = cluster.start(simulate('gce'));
  await running.ready;
  await cluster.create('80/TCP');
  const address = await until('an address', () => cluster.address());
  await cluster.setPorts('web', '80/TCP 81/UDP');
  await until('the condition', async () => (await cluster.condition('LoadBalancerPortsError'))?.startsWith('True'));
  const [ingress] = (await cluster.get())?.status.loadBalancer.ingress ?? [];
  assert.equal(ingress?.ip, address);
  assert.deepEqual(ingress?.ports, [
    { port: 80, protocol: 'TCP' },
    { port: 81, protocol: 'UDP', error: 'MixedProtocolNotSupported' },
  ]);
  assert.deepEqual(
    ingress?.portStatuses?.map(({ ready }) => ready),
    [true, false],
  );
});

test('LB-23 with the gate off an existing mixed Service can be edited and deleted, and a new one is refused', async () => {
  await using server = await testServer();
  const cluster = clusterOf(server);
  const off = { enabled: () => false };
  {
    await using running = cluster.start(simulate('azure'));
    await running.ready;
    await cluster.create('53/TCP 53/UDP');
    await until('an address', () => cluster.address());
  }
  {
    await using running = cluster.start({ ...simulate('azure'), gates: off });
    await running.ready;
    await cluster.setPorts('web', '53/TCP 5353/UDP');
    await until(
      'the new port',
      async () => (await cluster.get())?.status.loadBalancer.ingress?.[0]?.ports?.[1]?.port === 5353,
    );
    await cluster.create('80/TCP 81/UDP', { name: 'new' });
    await until('refused', async () => (await cluster.condition('LoadBalancerPortsError', 'new'))?.startsWith('True'));
  }
  await using running = cluster.start(simulate('azure'));
  await running.ready;
  await until('it is served after all', () => cluster.address('new'));
  await cluster.delete('web');
  await cluster.delete('new');
  await until('nothing is left', async () => (await cluster.balancers()).length === 0);
});

test('every cloud creates and deletes the load balancer of a TCP Service', async () => {
  for (const { name } of clouds) {
    await using server = await testServer();
    const cluster = clusterOf(server);
    await using running = cluster.start(simulate(name));
    await running.ready;
    await cluster.node('n1');
    await cluster.create('80/TCP 443/TCP');
    await until(`an address at ${name}`, () => cluster.address());
    assert.deepEqual(await inconsistencies(cluster, name, 'today'), []);
    await cluster.delete();
    await until(`nothing is left at ${name}`, async () => (await cluster.balancers()).length === 0);
  }
});

test('LB-22 many concurrent changes at a cloud with 20 % failing calls converge without leaks or hot loops', async () => {
  const seed = Date.now() % 100_000;
  for (const { name: cloudName } of clouds) {
    await using server = await testServer();
    await runStorm(clusterOf(server), { cloudName, services: 15, seed });
  }
});

test('LB-22 a controller that is killed between any two writes leaves nothing behind', async () => {
  for (let killAt = 1; killAt <= 30; killAt++) {
    // Every cloud, because each has other resources in another order.
    const cloud = clouds[killAt % clouds.length]?.name ?? '';
    await using server = await testServer();
    const cluster = clusterOf(server);
    let writes = 0;
    const dead = (call: { readonly method: string; readonly path: string }): void => {
      const isWrite = call.method !== 'GET' && !call.path.includes('/events');
      if (isWrite && ++writes > killAt) throw new Error('killed');
      if (writes > killAt) throw new Error('killed');
    };
    const first = cluster.start(simulate(cloud), dead);
    await first.ready;
    await cluster.create('80/TCP', { name: 'stays' });
    await cluster.create('53/TCP 53/UDP', { name: 'goes' });
    await cluster.quiet(15);
    await cluster.setPorts('stays', '80/TCP 81/UDP');
    await cluster.delete('goes');
    await cluster.quiet(15);
    await first[Symbol.asyncDispose]();
    await using second = cluster.start(simulate(cloud));
    await second.ready;
    await until(`all is well at ${cloud} after a kill at write ${killAt}`, async () => {
      const isGone = (await cluster.get('goes')) === undefined;
      return isGone && (await inconsistencies(cluster, cloud, 'today')).length === 0;
    });
  }
});
