// The user stories of KEP-1645, with real names, connections and processes.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { Caller } from './caller.ts';
import type { SetCluster } from './set.ts';
import { leaseMs, startSet } from './set.ts';

const zone = (name: string, set: 'supercluster' | 'cluster' = 'supercluster'): string =>
  `${name}.shop.svc.${set}.local`;
const nearFirst = { 'fairlead.dev/topology-keys': 'topology.kubernetes.io/zone,topology.kubernetes.io/region,*' };

describe('three clusters', { skip: unlessInstalled('curl', 'dig') }, () => {
  const stack = new AsyncDisposableStack();
  let east: SetCluster;
  let west: SetCluster;
  let north: SetCluster;
  before(async () => {
    const places = [
      { id: 'east', region: 'eu', zone: 'eu-1' },
      { id: 'west', region: 'eu', zone: 'eu-2' },
      { id: 'north', region: 'us', zone: 'us-1' },
    ];
    const [first, second, third] = await startSet(places, stack);
    assert.ok(first && second && third);
    [east, west, north] = [first, second, third];
  });
  after(() => stack.disposeAsync());

  test("MCS-140 MCS-6 teams in two clusters find each other's Services by name, as in their own cluster", async () => {
    await east.serve('db');
    await east.export('db');
    await west.serve('web');
    await west.export('web');
    for (const cluster of [east, west, north]) {
      await until('db is resolved', async () => (await cluster.curl(zone('db'))) === 'east');
      await until('web is resolved', async () => (await cluster.curl(zone('web'))) === 'west');
      assert.equal(await cluster.resolve(`_http._tcp.${zone('web')}`, 'SRV'), `0 100 8080 ${zone('web')}.`);
    }
    assert.equal(await west.curl(zone('web', 'cluster')), 'west');
    assert.equal(
      await west.resolve(`_http._tcp.${zone('web', 'cluster')}`, 'SRV'),
      `0 100 8080 ${zone('web', 'cluster')}.`,
    );
    assert.equal(await east.resolve(zone('web', 'cluster')), '', 'MCS-52 MCS-53');
  });

  test('NAME-8 SRV-14 a name that begins with a digit and an SRV name work in their cluster, from outside and in other clusters', async () => {
    const ports = (['TCP', 'UDP'] as const).map((protocol) => ({
      name: `kerberos-${protocol.toLowerCase()}`,
      protocol,
      port: 8088,
      srvServiceName: 'kerberos',
    }));
    const web = { name: 'http', port: 8080 };
    await east.serve('1idm', { type: 'LoadBalancer', ports: [web, ...ports] });
    await east.export('1idm');
    await until(
      'the Service answers in its cluster',
      async () => (await east.curl(zone('1idm', 'cluster'))) === 'east',
    );
    const ingress = async (): Promise<string | undefined> =>
      (await east.client.get(serviceKind, { namespace: 'shop', name: '1idm' })).status.loadBalancer?.ingress?.[0]?.ip;
    await until('the Service has an external address', async () => (await ingress()) !== undefined);
    await using outside = new Caller(`http://${await ingress()}:8080/`);
    await until('the Service answers from outside', async () => outside.last(1) === 'east');
    await until('the Service answers in another cluster', async () => (await north.curl(zone('1idm'))) === 'east');
    for (const protocol of ['_tcp', '_udp']) {
      assert.equal(await north.resolve(`_kerberos.${protocol}.${zone('1idm')}`, 'SRV'), `0 100 8088 ${zone('1idm')}.`);
    }
  });

  test('MCS-141 a service moves to another cluster without an error for its clients', async () => {
    await west.serve('cart');
    await west.export('cart');
    await until('the name is resolved', async () => (await north.curl(zone('cart'))) === 'west');
    const address = await north.resolve(zone('cart'));
    await using caller = new Caller(`http://${address}:8080/`);
    await until('calls succeed', async () => caller.calls.length > 20);
    await east.serve('cart');
    await east.export('cart');
    await until('both clusters answer', async () => caller.last(40) === 'east,west');
    await west.unexport('cart');
    await until('west has left the service', async () => (await west.sources('cart')) === 'east');
    await until('the new cluster answers', async () => caller.last(100) === 'east');
    await west.killPod('cart');
    const before = caller.calls.length;
    await until('calls continue', async () => caller.calls.length > before + 100);
    assert.deepEqual(caller.errors, []);
    assert.equal(await north.resolve(zone('cart')), address);
  });

  test('MCS-142 MCS-144 callers are routed to their zone, then their region, then any cluster', async () => {
    for (const cluster of [east, west, north]) {
      await cluster.serve('tax', {}, nearFirst);
      await cluster.export('tax');
    }
    const all = 'east,north,west';
    for (const cluster of [east, west, north]) {
      await until('all clusters export it', async () => (await cluster.sources('tax')) === all);
    }
    await using caller = new Caller(`http://${await east.resolve(zone('tax'))}:8080/`);
    await until('the zone of the caller answers', async () => caller.last(50) === 'east');
    await using far = new Caller(`http://${await north.resolve(zone('tax'))}:8080/`);
    await until('the zone of the other caller answers', async () => far.last(50) === 'north');
    await east.unexport('tax');
    await until('the region of the caller answers', async () => caller.last(50) === 'west');
    await west.unexport('tax');
    await until('another region answers', async () => caller.last(50) === 'north');
    assert.deepEqual([caller.errors, far.errors], [[], []]);
    await east.export('tax');
    await until('the zone of the caller answers again', async () => caller.last(50) === 'east');
  });

  test('MCS-143 a cluster is lost, and calls succeed again within the lease', async () => {
    for (const cluster of [east, west]) {
      await cluster.serve('api');
      await cluster.export('api');
    }
    await using caller = new Caller(`http://${await eventualAddress(north, 'api')}:8080/`);
    await until('both clusters answer', async () => caller.last(60) === 'east,west');
    const lostAt = performance.now();
    await east.kill();
    const slices = async (): Promise<boolean> => !(await north.endpoints('api')).includes('east');
    await until('its endpoints are removed', slices, leaseMs + 2000);
    const removedAt = performance.now();
    await until('the other cluster answers', async () => caller.last(100) === 'west');
    const late = caller.errors.filter(({ atMs }) => atMs > removedAt);
    assert.deepEqual(late, [], 'no error once the endpoints are gone');
    const during = caller.calls.filter(({ atMs }) => atMs >= lostAt - 50 && atMs <= removedAt);
    assert.ok(caller.errors.length <= 1, `${caller.errors.length} errors of ${during.length} calls`);
  });
});

/** The address of a service in a cluster, once it has one. */
async function eventualAddress(cluster: SetCluster, name: string): Promise<string> {
  let address = '';
  await until(`${name} has an address`, async () => (address = await cluster.resolve(zone(name))) !== '');
  return address;
}
