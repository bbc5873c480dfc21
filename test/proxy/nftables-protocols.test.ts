// The nftables backend in network namespaces: both protocols on one port, UDP flows, SCTP, session affinity, imports.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { Service } from '../../src/api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../src/api/kinds/discovery/endpointslice/schema.ts';
import type { ImportedService } from '../../src/api/kinds/multicluster/supercluster/import.ts';
import { routesOf } from '../../src/proxy/routes/routes.ts';
import { unless } from '../harness/needs.ts';
import { whyNoNamespaces } from './namespaces/cluster.ts';
import type { PodName, Routed } from './namespaces/routed.ts';
import {
  names,
  node,
  onBoth,
  openBackend,
  places,
  pods,
  service,
  slices,
  slicesOnBoth,
  startRouted,
} from './namespaces/routed.ts';

describe('nftables', { skip: unless(whyNoNamespaces()) }, () => {
  let routed: Routed;
  before(async () => {
    routed = await startRouted();
  });
  after(() => routed[Symbol.asyncDispose]());

  for (const { story, port } of [
    { story: 'LB-9 a DNS server', port: 53 },
    { story: 'LB-10 a SIP server', port: 5060 },
  ]) {
    test(`LB-1 ${story} answers over TCP and UDP on one address and port`, async () => {
      const { cluster, route } = routed;
      const ports = (['UDP', 'TCP'] as const).map((protocol) => ({ port, protocol }));
      const ingress = places.map(({ balancer }) => ({ ip: balancer, ports }));
      await route(service({ type: 'LoadBalancer', ports: onBoth(port) }, ingress), slicesOnBoth('podA', 'podB'));
      for (const address of places.flatMap(({ vip, balancer }) => [vip, balancer])) {
        assert.deepEqual(names([await cluster.client.send(`${port} ${address}`, address, port)]), ['podA']);
        assert.deepEqual(names(await cluster.client.dial(address, port)), ['podB']);
      }
    });
  }

  for (const { family, vip } of places) {
    test(`${family}: the first packet of an SCTP association is translated, including its port`, async () => {
      const { cluster, route } = routed;
      await route(service({ ports: [{ port: 3868, protocol: 'SCTP' }] }), slices(['podA'], { protocol: 'SCTP' }));
      const fromPort = 40_000;
      await cluster.client.execute({ do: 'associate', address: vip, port: 3868, fromPort });
      const flows = cluster.node.run('conntrack', '-L', '-p', 'sctp', '-f', family.toLowerCase());
      const [flow = ''] = flows.split('\n').filter((line) => line.includes(`dst=${vip} sport=${fromPort}`));
      assert.match(flow, new RegExp(` dport=3868 .*src=${pods.podA[family]} .*sport=8080 `), flows);
    });

    test(`${family}: session affinity lasts until its timeout or until the endpoint is removed`, async () => {
      const { cluster, backend, table, route } = routed;
      const stickyFor = (timeoutSeconds: number): Service =>
        service({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds } } });
      const sticky = stickyFor(3600);
      const all: readonly PodName[] = ['podA', 'podB', 'far'];
      const endpointsOf = async (count: number): Promise<readonly string[]> =>
        names(await cluster.client.dial(vip, 80, { count }));
      await route(sticky, slices(all));
      const [first = ''] = await endpointsOf(1);
      assert.deepEqual(await endpointsOf(30), [first]);
      // Another endpoint is removed and added: nothing changes for this client.
      const others = all.filter((name) => name !== first);
      await route(sticky, slices(all.filter((name) => name !== others[0])));
      assert.deepEqual(await endpointsOf(10), [first]);
      await backend.replace(table);
      assert.deepEqual(await endpointsOf(10), [first], 'after everything is loaded again');
      // Its own endpoint is removed.
      await route(sticky, slices(others));
      const second = await endpointsOf(20);
      assert.equal(second.length, 1);
      assert.notEqual(second[0], first);
      // Connections are distributed once the timeout has passed each time: the same endpoint every time by chance is one in a million.
      await route(stickyFor(1), slices(others));
      const seen = new Set(second);
      for (let round = 0; round < 20 && seen.size < 2; round++) {
        await new Promise((resolve) => setTimeout(resolve, 1100));
        for (const name of await endpointsOf(1)) seen.add(name);
      }
      assert.equal(seen.size, 2);
    });

    test(`${family}: a UDP client that keeps its socket moves when its endpoint is removed, and not before`, async () => {
      const { cluster, backend, table, route } = routed;
      const dns = service({ ports: [{ port: 53, protocol: 'UDP' }] });
      const serve = (...of: readonly PodName[]): Promise<void> => route(dns, slices(of, { protocol: 'UDP' }));
      const reply = async (options = {}): Promise<string> =>
        (await cluster.client.send(`keeps ${family}`, vip, 53, options)).split(' ')[0] ?? '';
      await serve('podA');
      assert.equal(await reply(), 'podA');
      await backend.replace(table);
      await serve('podA', 'podB', 'far');
      assert.equal(await reply(), 'podA', 'it stays while its endpoint does');
      await using again = await openBackend(cluster);
      await again.replace(table);
      assert.equal(await reply(), 'podA', 'the proxy was started again');
      await serve('podB');
      assert.equal(await reply(), 'podB');
      await serve();
      assert.equal(await reply(), 'refused', 'scaled to nothing');
      await serve('far');
      assert.equal(await reply(), 'far');
      await route(undefined);
      assert.notEqual(await reply({ timeoutMs: 300 }), 'far', 'deleted');
      assert.deepEqual(backend.problems(), []);
    });
  }

  test('MCS-42 MCS-107 MCS-132 MCS-133 an imported address routes to three clusters, each with its own ports and topology keys', async () => {
    const { cluster, backend, table } = routed;
    const [ip, zone] = ['10.128.0.5', 'topology.kubernetes.io/zone'];
    const imported = (eastKeys: readonly string[]): ImportedService => ({
      metadata: { namespace: 'shop', name: 'web' },
      spec: {
        ip,
        ipFamily: 'IPv4',
        ports: [{ port: 80 }],
        clusters: [{ cluster: 'east', topologyKeys: [...eastKeys] }, { cluster: 'west' }, { cluster: 'north' }],
      },
    });
    /** In each cluster the same port of the service has another port of its Pods. */
    const from = (of: string, name: PodName, port: number, inZone: string): EndpointSlice => ({
      metadata: { name: `${of}-${name}`, labels: { 'multicluster.kubernetes.io/source-cluster': of } },
      addressType: 'IPv4',
      ports: [{ port, protocol: 'TCP' }],
      endpoints: [{ addresses: [pods[name].IPv4], conditions: {}, zone: inZone }],
    });
    await cluster.far.execute({ do: 'serve', name: 'west', port: 9090 });
    await cluster.far.execute({ do: 'serve', name: 'north', port: 9091 });
    const use = async (keys: readonly string[], ...given: readonly EndpointSlice[]): Promise<readonly string[]> => {
      const source = { key: 'shop/web', imported: imported(keys), serviceImport: undefined };
      const here = { ...node, labels: { [zone]: 'a' } };
      table.set('Import shop/web', routesOf({ import: source, slices: given, node: here }));
      await backend.apply(table.takeChange());
      return names(await cluster.podB.dial(ip, 80, { count: 60 }));
    };
    const inA = from('east', 'podA', 8080, 'a');
    const inB = from('east', 'podB', 8080, 'b');
    const west = from('west', 'far', 9090, 'c');
    const north = from('north', 'far', 9091, 'd');
    assert.deepEqual(await use([], inA, inB, west, north), ['north', 'podA', 'podB', 'west']);
    const keys = [zone, '*'];
    assert.deepEqual(await use(keys, inA, inB, west, north), ['north', 'podA', 'west'], 'keys are those of east alone');
    assert.deepEqual(await use(keys, inB, west, north), ['north', 'podB', 'west'], 'the near one is gone');
    assert.deepEqual(await use([zone], inB, west), ['west'], 'nobody of east is near enough');
    assert.deepEqual(await use(keys, north), ['north'], 'two clusters are gone');
    assert.deepEqual(await use(keys), ['refused']);
    assert.deepEqual(await cluster.podB.dial(ip, 81), ['refused'], 'no such port');
    table.set('Import shop/web', []);
    await backend.apply(table.takeChange());
  });

  test('MCS-131 MCS-134 an imported address has session affinity and publishNotReadyAddresses per exporting cluster', async () => {
    const { cluster, backend, table } = routed;
    const imported: ImportedService = {
      metadata: { namespace: 'shop', name: 'web' },
      spec: {
        ip: '10.128.0.6',
        ipFamily: 'IPv4',
        ports: [{ port: 80 }],
        clusters: [
          { cluster: 'east', sessionAffinity: 'ClientIP' },
          { cluster: 'west', publishNotReadyAddresses: true },
        ],
      },
    };
    const from = (of: string, name: PodName, ready: boolean): EndpointSlice => ({
      metadata: { name: `${of}-${name}`, labels: { 'multicluster.kubernetes.io/source-cluster': of } },
      addressType: 'IPv4',
      ports: [{ port: 8080, protocol: 'TCP' }],
      endpoints: [{ addresses: [pods[name].IPv4], conditions: { ready } }],
    });
    const use = async (...given: readonly EndpointSlice[]): Promise<readonly string[]> => {
      const source = { key: 'shop/web', imported, serviceImport: undefined };
      table.set('Import shop/web', routesOf({ import: source, slices: given, node }));
      await backend.apply(table.takeChange());
      return (await cluster.client.dial('10.128.0.6', 80, { count: 60 })).map((text) => text.split(' ')[0] ?? '');
    };
    assert.deepEqual(names(await use(from('east', 'podA', false), from('west', 'far', false))), ['far']);
    const answers = await use(from('east', 'podA', true), from('east', 'podB', true), from('west', 'far', true));
    const stuck = answers.findIndex((name) => name !== 'far');
    assert.deepEqual(names(answers.slice(stuck)), [answers[stuck]], 'once in east, always there');
    table.set('Import shop/web', []);
    await backend.apply(table.takeChange());
  });
});
