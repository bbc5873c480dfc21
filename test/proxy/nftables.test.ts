// The nftables backend in real namespaces: a node, its Pods, a Pod elsewhere, a client outside.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { LoadBalancerIngress, Service, ServiceSpec } from '../../src/api/kinds/core/service/schema.ts';
import type { Endpoint, EndpointSlice } from '../../src/api/kinds/discovery/endpointslice/schema.ts';
import { NftablesBackend } from '../../src/proxy/nftables/backend.ts';
import type { NodeNetwork } from '../../src/proxy/routes/route.ts';
import { routesOf } from '../../src/proxy/routes/routes.ts';
import { RoutingTable } from '../../src/proxy/routes/table.ts';
import type { Cluster } from './namespaces/cluster.ts';
import { startCluster, whyNoNamespaces } from './namespaces/cluster.ts';
import type { Namespace } from './namespaces/namespace.ts';
import { unless } from '../harness/needs.ts';

const skip = unless(whyNoNamespaces());

const network: NodeNetwork = {
  addresses: new Set(['192.0.2.1', '10.1.0.1', '10.1.1.1', '127.0.0.1']),
  podRanges: ['10.1.0.0/24', '2001:db8:1::/64'],
  serviceRanges: ['10.96.0.0/16', '2001:db8:96::/112'],
  masqueradeAll: false,
};
const node = { name: 'node', labels: {}, nodePortAddresses: ['192.0.2.1', '2001:db8:2::1'] };

const pods = {
  podA: { nodeName: 'node', IPv4: '10.1.0.11', IPv6: '2001:db8:1::11' },
  podB: { nodeName: 'node', IPv4: '10.1.0.12', IPv6: '2001:db8:1::12' },
  far: { nodeName: 'other', IPv4: '10.1.1.11', IPv6: '2001:db8:3::11' },
} as const;
type PodName = keyof typeof pods;

const vip4 = '10.96.0.10';
const vip6 = '2001:db8:96::10';
const balancer = '203.0.113.5';

/** Slices of both families with these Pods; `!` before a name: it terminates and no longer serves. */
function slices(names: readonly PodName[], protocol: 'TCP' | 'UDP' = 'TCP', name = ''): readonly EndpointSlice[] {
  return (['IPv4', 'IPv6'] as const).map((addressType) => ({
    metadata: { name: addressType },
    addressType,
    ports: [{ port: 8080, protocol, ...(name === '' ? {} : { name }) }],
    endpoints: names.map((each): Endpoint => ({
      addresses: [pods[each][addressType]],
      conditions: {},
      nodeName: pods[each].nodeName,
    })),
  }));
}

function service(spec: Partial<ServiceSpec> = {}, ingress: readonly LoadBalancerIngress[] = []): Service {
  return {
    metadata: { namespace: 'shop', name: '1-web' },
    spec: {
      clusterIP: vip4,
      clusterIPs: [vip4, vip6],
      ports: [{ port: 80, protocol: 'TCP', nodePort: 30080 }],
      ...spec,
    },
    status: { loadBalancer: { ingress: [...ingress] } },
  };
}

const names = (answers: readonly string[]): readonly string[] =>
  [...new Set(answers.map((answer) => answer.split(' ')[0] ?? ''))].sort();

describe('nftables', { skip }, () => {
  let cluster: Cluster;
  let backend: NftablesBackend;
  const table = new RoutingTable(network);

  /** Makes one Service the only one, by the difference to what was there. */
  async function route(of: Service | undefined, ...of2: readonly (readonly EndpointSlice[])[]): Promise<void> {
    table.set('Service shop/1-web', of === undefined ? [] : routesOf({ service: of, slices: of2.flat(), node }));
    await backend.apply(table.takeChange());
  }

  before(async () => {
    cluster = await startCluster();
    cluster.node.run('nft', 'add table ip somebody-elses; add set ip somebody-elses s { type ipv4_addr ; }');
    backend = await NftablesBackend.open({
      nft: cluster.node.within('nft'),
      conntrack: cluster.node.within('conntrack'),
    });
    await backend.replace(table);
  });
  after(async () => {
    await backend[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  test('a cluster IP is shared out over all endpoints, in both families, and Pods keep their address', async () => {
    await route(service(), slices(['podA', 'podB', 'far']));
    assert.deepEqual(names(await cluster.client.dial(vip4, 80, { count: 60 })), ['far', 'podA', 'podB']);
    assert.deepEqual(names(await cluster.client.dial(vip6, 80, { count: 60 })), ['far', 'podA', 'podB']);
    await route(service(), slices(['far']));
    assert.deepEqual(await cluster.podA.dial(vip4, 80), ['far 10.1.0.11']);
    assert.deepEqual(await cluster.podA.dial(vip6, 80), ['far 2001:db8:1::11']);
    // Who is no Pod of this node gets the node's address, on the way to the endpoint.
    assert.deepEqual(await cluster.client.dial(vip4, 80), ['far 10.1.1.1']);
  });

  test('the node itself reaches a cluster IP', async () => {
    await route(service(), slices(['podA']));
    assert.deepEqual(names(await cluster.node.dial(vip4, 80)), ['podA']);
    assert.deepEqual(names(await cluster.node.dial(vip6, 80)), ['podA']);
  });

  test('a Pod reaches itself through its Service', async () => {
    await route(service(), slices(['podA']));
    assert.deepEqual(await cluster.podA.dial(vip4, 80), ['podA 10.1.0.1']);
    assert.deepEqual(names(await cluster.podA.dial(vip6, 80)), ['podA']);
  });

  test('200 connections to a Service without endpoints are refused at once, in both families', async () => {
    await route(service(), slices([]));
    for (const address of [vip4, vip6]) {
      const started = performance.now();
      const answers = await cluster.client.dial(address, 80, { count: 200 });
      assert.deepEqual(new Set(answers), new Set(['refused']));
      assert.ok(performance.now() - started < 3000, 'no refusal is delayed');
    }
    assert.deepEqual(await cluster.node.dial(vip4, 80), ['refused']);
    assert.deepEqual(await cluster.podA.dial(vip4, 80), ['refused']);
  });

  test('a port that a Service does not have is refused; an address that nobody has is silent', async () => {
    await route(service(), slices(['podA']));
    assert.deepEqual(await cluster.client.dial(vip4, 81), ['refused']);
    assert.deepEqual(await cluster.client.dial(vip6, 81), ['refused']);
    assert.deepEqual(await cluster.client.dial('10.96.0.99', 80, { timeoutMs: 300 }), ['silence']);
  });

  test('node ports and load balancers under policy Cluster', async () => {
    await route(service({ type: 'LoadBalancer' }, [{ ip: balancer }]), slices(['far']));
    assert.deepEqual(await cluster.client.dial('192.0.2.1', 30080), ['far 10.1.1.1']);
    assert.deepEqual(names(await cluster.client.dial('2001:db8:2::1', 30080)), ['far']);
    assert.deepEqual(await cluster.client.dial(balancer, 80), ['far 10.1.1.1']);
  });

  test('policy Local keeps the client, serves Pods and the node as Cluster, and is silent without endpoints', async () => {
    const local = service({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' }, [{ ip: balancer }]);
    await route(local, slices(['podA', 'far']));
    assert.deepEqual(new Set(await cluster.client.dial(balancer, 80, { count: 20 })), new Set(['podA 192.0.2.9']));
    assert.deepEqual(await cluster.client.dial('2001:db8:2::1', 30080), ['podA 2001:db8:2::9']);
    await route(local, slices(['far']));
    assert.deepEqual(await cluster.client.dial(balancer, 80, { timeoutMs: 300 }), ['silence']);
    assert.deepEqual(await cluster.client.dial('192.0.2.1', 30080, { timeoutMs: 300 }), ['silence']);
    assert.deepEqual(await cluster.podA.dial(balancer, 80), ['far 10.1.0.11']);
    assert.deepEqual(await cluster.node.dial(balancer, 80), ['far 10.1.1.1']);
    await route(local, slices([]));
    assert.deepEqual(await cluster.client.dial(balancer, 80), ['refused']);
    assert.deepEqual(await cluster.podA.dial(balancer, 80), ['refused']);
  });

  test('internal policy Local is silent without local endpoints', async () => {
    await route(service({ internalTrafficPolicy: 'Local' }), slices(['far']));
    assert.deepEqual(await cluster.podA.dial(vip4, 80, { timeoutMs: 300 }), ['silence']);
    await route(service({ internalTrafficPolicy: 'Local' }), slices(['far', 'podB']));
    assert.deepEqual(names(await cluster.podA.dial(vip4, 80, { count: 10 })), ['podB']);
  });

  test('source ranges close a load balancer to others, and nothing else', async () => {
    const ranged = (loadBalancerSourceRanges: readonly string[]): Service =>
      service({ type: 'LoadBalancer', loadBalancerSourceRanges: [...loadBalancerSourceRanges] }, [{ ip: balancer }]);
    await route(ranged(['198.51.100.0/24', '10.1.0.11/32']), slices(['podA']));
    assert.deepEqual(await cluster.client.dial(balancer, 80, { timeoutMs: 300 }), ['silence']);
    assert.deepEqual(names(await cluster.podA.dial(balancer, 80)), ['podA']);
    assert.deepEqual(names(await cluster.client.dial('192.0.2.1', 30080)), ['podA']);
    await route(ranged(['192.0.2.0/24']), slices(['podA']));
    assert.deepEqual(names(await cluster.client.dial(balancer, 80)), ['podA']);
  });

  test('LB-7 no packet passes to a port that the load balancer could not open, until it does', async () => {
    const ports = [{ port: 80, protocol: 'TCP' as const, error: 'MixedProtocolNotSupported' }];
    await route(service({ type: 'LoadBalancer' }, [{ ip: balancer, ports }]), slices(['podA']));
    assert.deepEqual(await cluster.client.dial(balancer, 80, { timeoutMs: 300 }), ['silence']);
    assert.deepEqual(names(await cluster.client.dial(vip4, 80)), ['podA']);
    assert.deepEqual(names(await cluster.client.dial('192.0.2.1', 30080)), ['podA']);
    await route(
      service({ type: 'LoadBalancer' }, [{ ip: balancer, ports: [{ port: 80, protocol: 'TCP' }] }]),
      slices(['podA']),
    );
    assert.deepEqual(names(await cluster.client.dial(balancer, 80)), ['podA']);
  });

  test('LB-1 TCP and UDP share one address and port', async () => {
    const mixed = service({
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP' },
      ],
    });
    await route(mixed, slices(['podA'], 'UDP', 'dns'), slices(['podB'], 'TCP', 'dns-tcp'));
    for (const address of [vip4, vip6]) {
      assert.deepEqual(names([await cluster.client.send(`mixed ${address}`, address, 53)]), ['podA']);
      assert.deepEqual(names(await cluster.client.dial(address, 53)), ['podB']);
    }
  });

  for (const { story, port } of [
    { story: 'LB-9 a DNS server', port: 53 },
    { story: 'LB-10 a SIP server', port: 5060 },
  ]) {
    test(`${story} answers over TCP and UDP at one load-balancer address and port`, async () => {
      const mixed = service(
        {
          type: 'LoadBalancer',
          ports: [
            { name: 'over-udp', port, protocol: 'UDP' },
            { name: 'over-tcp', port, protocol: 'TCP' },
          ],
        },
        [
          {
            ip: balancer,
            ports: [
              { port, protocol: 'UDP' },
              { port, protocol: 'TCP' },
            ],
          },
        ],
      );
      await route(mixed, slices(['podA'], 'UDP', 'over-udp'), slices(['podB'], 'TCP', 'over-tcp'));
      assert.deepEqual(names([await cluster.client.send(`story ${port}`, balancer, port)]), ['podA']);
      assert.deepEqual(names(await cluster.client.dial(balancer, port)), ['podB']);
    });
  }

  test('MCS-42 an imported address leads to endpoints of every cluster, near ones first where a cluster asks for it', async () => {
    const imported = (topologyKeys: readonly string[]) => ({
      metadata: { namespace: 'shop', name: 'web' },
      spec: {
        ip: '10.128.0.5',
        ipFamily: 'IPv4' as const,
        ports: [{ port: 80 }],
        clusters: [{ cluster: 'east', topologyKeys: [...topologyKeys] }, { cluster: 'west' }],
      },
    });
    const from = (cluster: string, name: PodName, zone: string): EndpointSlice => ({
      metadata: { name: `${cluster}-${name}`, labels: { 'multicluster.kubernetes.io/source-cluster': cluster } },
      addressType: 'IPv4',
      ports: [{ port: 8080, protocol: 'TCP' }],
      endpoints: [{ addresses: [pods[name].IPv4], conditions: {}, zone }],
    });
    const near = { ...node, labels: { 'topology.kubernetes.io/zone': 'a' } };
    const use = async (keys: readonly string[], ...given: readonly EndpointSlice[]): Promise<readonly string[]> => {
      const source = { key: 'shop/web', imported: imported(keys), serviceImport: undefined };
      table.set('Import shop/web', routesOf({ import: source, slices: given, node: near }));
      await backend.apply(table.takeChange());
      return names(await cluster.client.dial('10.128.0.5', 80, { count: 40 }));
    };
    const [inA, inB, west] = [from('east', 'podA', 'a'), from('east', 'podB', 'b'), from('west', 'far', 'c')];
    assert.deepEqual(await use([], inA, inB, west), ['far', 'podA', 'podB']);
    const keys = ['topology.kubernetes.io/zone', '*'];
    assert.deepEqual(await use(keys, inA, inB, west), ['far', 'podA']);
    assert.deepEqual(await use(keys, inB, west), ['far', 'podB'], 'the near one is gone');
    assert.deepEqual(await use(keys, west), ['far'], 'the cluster is gone');
    assert.deepEqual(await use(keys), ['refused']);
    table.set('Import shop/web', []);
    await backend.apply(table.takeChange());
  });

  for (const [family, vip] of [
    ['IPv4', vip4],
    ['IPv6', vip6],
  ] as const) {
    test(`${family}: clients come back where they were, until the time is up or the endpoint goes`, async () => {
      const sticky = service({
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 2 } },
      });
      await route(sticky, slices(['podA', 'podB', 'far']));
      const [first = ''] = names(await cluster.client.dial(vip, 80));
      assert.deepEqual(names(await cluster.client.dial(vip, 80, { count: 30 })), [first]);
      // Another endpoint goes and comes: nothing changes for this client.
      const others = (['podA', 'podB', 'far'] as const).filter((name) => name !== first);
      await route(sticky, slices(['podA', 'podB', 'far'].filter((name) => name !== others[0]) as PodName[]));
      assert.deepEqual(names(await cluster.client.dial(vip, 80, { count: 10 })), [first]);
      await backend.replace(table);
      assert.deepEqual(
        names(await cluster.client.dial(vip, 80, { count: 10 })),
        [first],
        'after everything is loaded again',
      );
      // Its own goes.
      await route(sticky, slices(others));
      const second = names(await cluster.client.dial(vip, 80, { count: 20 }));
      assert.equal(second.length, 1);
      assert.notEqual(second[0], first);
      // Clients are spread, as the time runs out again and again: that chance alone keeps one in place is one in a million.
      const seen = new Set<string>();
      for (let round = 0; round < 20 && seen.size < 2; round++) {
        for (const name of names(await cluster.client.dial(vip, 80))) seen.add(name);
        await new Promise((resolve) => setTimeout(resolve, 2100));
      }
      assert.equal(seen.size, 2);
    });

    test(`${family}: a UDP client that keeps its socket moves when its endpoint goes`, async () => {
      const dns = service({ ports: [{ port: 53, protocol: 'UDP' }] });
      const socket = `keeps ${family}`;
      await route(dns, slices(['podA'], 'UDP'));
      assert.deepEqual(names([await cluster.client.send(socket, vip, 53)]), ['podA']);
      await backend.replace(table);
      await route(dns, slices(['podA', 'podB'], 'UDP'));
      assert.deepEqual(
        names([await cluster.client.send(socket, vip, 53)]),
        ['podA'],
        'it stays while its endpoint does',
      );
      await route(dns, slices(['podB'], 'UDP'));
      assert.deepEqual(names([await cluster.client.send(socket, vip, 53)]), ['podB']);
      await route(dns, slices([], 'UDP'));
      assert.equal(await cluster.client.send(socket, vip, 53), 'refused', 'scaled to nothing');
      await route(dns, slices(['far'], 'UDP'));
      assert.deepEqual(names([await cluster.client.send(socket, vip, 53)]), ['far']);
      await route(undefined);
      assert.notEqual((await cluster.client.send(socket, vip, 53)).split(' ')[0], 'far', 'deleted');
      assert.deepEqual(backend.problems(), []);
    });
  }

  test('no connection is lost while everything is loaded again and endpoints change', async () => {
    const clients: readonly Namespace[] = [cluster.client, cluster.podA];
    await route(service(), slices(['podA', 'podB', 'far']));
    for (const client of clients) await client.tell({ do: 'load', address: vip4, port: 80, parallel: 8 });
    for (let round = 0; round < 10; round++) {
      await backend.replace(table);
      await route(service(), slices(round % 2 === 0 ? ['podA', 'far'] : ['podA', 'podB', 'far']));
    }
    for (const client of clients) {
      const [counts = ''] = await client.tell({ do: 'stop' });
      const [good = 0, bad = 0] = counts.split(' ').map(Number);
      assert.equal(bad, 0);
      assert.ok(good > 50, `${good} connections`);
    }
  });

  test('a refused transaction leaves the old rules, and loading everything recovers', async () => {
    await route(service(), slices(['podA']));
    cluster.node.run('nft', 'flush map ip fairlead-proxy slots-tcp');
    table.set('Service shop/1-web', routesOf({ service: service(), slices: slices(['podB']), node }));
    await assert.rejects(backend.apply(table.takeChange()), /nft refused a transaction/);
    await backend.replace(table);
    assert.deepEqual(names(await cluster.client.dial(vip4, 80)), ['podB']);
  });

  test('a table of another shape under its name is made anew', async () => {
    await route(service(), slices(['podA']));
    cluster.node.run(
      'nft',
      'delete table ip fairlead-proxy; add table ip fairlead-proxy; add set ip fairlead-proxy services { type inet_service ; }',
    );
    await backend.replace(table);
    assert.deepEqual(names(await cluster.client.dial(vip4, 80)), ['podA']);
  });

  test('cleaning up leaves nothing, and nobody else’s table was touched', async () => {
    cluster.node.run('nft', 'list', 'ruleset');
    await backend.cleanup();
    const rules = cluster.node.run('nft', 'list', 'ruleset');
    assert.match(rules, /somebody-elses/);
    assert.doesNotMatch(rules, /fairlead/);
    await backend.cleanup();
  });
});
