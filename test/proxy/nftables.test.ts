// The nftables backend in network namespaces: a node, its Pods, a Pod on another node, a client outside.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import type { Service } from '../../src/api/kinds/core/service/schema.ts';
import { unless } from '../harness/needs.ts';
import { whyNoNamespaces } from './namespaces/cluster.ts';
import type { PodName, Routed } from './namespaces/routed.ts';
import { routesOf } from '../../src/proxy/routes/routes.ts';
import { precedenceOf } from '../../src/proxy/routes/precedence.ts';
import { names, node, onBoth, places, service, slices, slicesOnBoth, startRouted } from './namespaces/routed.ts';

const quick = { timeoutMs: 300 };
const loopbackProgram = fileURLToPath(new URL('namespaces/loopback.ts', import.meta.url));

describe('nftables', { skip: unless(whyNoNamespaces()) }, () => {
  let routed: Routed;
  before(async () => {
    routed = await startRouted();
  });
  after(() => routed[Symbol.asyncDispose]());

  for (const { family, vip, balancer, nodeAddress, towardsFar, outsider } of places) {
    describe(family, () => {
      test('a cluster IP balances over all endpoints, and Pods keep their source address', async () => {
        const { cluster, route } = routed;
        await route(service(), slices(['podA', 'podB', 'far']));
        assert.deepEqual(names(await cluster.client.dial(vip, 80, { count: 60 })), ['far', 'podA', 'podB']);
        await route(service(), slices(['far']));
        const [, address] = (await cluster.podA.dial(vip, 80))[0]?.split(' ') ?? [];
        assert.match(address ?? '', /^(10\.1\.0\.11|2001:db8:1::11)$/);
        // Clients other than Pods of this node are masqueraded on the way to the endpoint.
        assert.deepEqual(await cluster.client.dial(vip, 80), [`far ${towardsFar}`]);
      });

      test('the node reaches a cluster IP, and a Pod reaches itself through it', async () => {
        const { cluster, route } = routed;
        await route(service(), slices(['podA']));
        assert.deepEqual(names(await cluster.node.dial(vip, 80)), ['podA']);
        assert.deepEqual(names(await cluster.podA.dial(vip, 80)), ['podA']);
      });

      test('200 connections to a Service without endpoints are all refused', async () => {
        const { cluster, route } = routed;
        await route(service(), slices([]));
        // A rate limit of the kernel would delay some of them by a second each, or drop them.
        const started = performance.now();
        const answers = await cluster.client.dial(vip, 80, { count: 200 });
        assert.deepEqual(new Set(answers), new Set(['refused']));
        assert.ok(performance.now() - started < 30_000);
        assert.deepEqual(await cluster.node.dial(vip, 80), ['refused']);
        assert.deepEqual(await cluster.podA.dial(vip, 80), ['refused']);
      });

      test('a port that a Service does not have is refused; an address without a Service is silent', async () => {
        const { cluster, route } = routed;
        await route(service(), slices(['podA']));
        assert.deepEqual(await cluster.client.dial(vip, 81), ['refused']);
        assert.deepEqual(await cluster.client.dial(vip.replace(/10$/, '99'), 80, quick), ['silence']);
      });

      test('an external IP gets no traffic at an address that is allocated to another Service, although it is older', async () => {
        const { cluster, route, table, backend } = routed;
        const of = { slices: slices(['far']), node };
        const claimed = [vip, balancer, nodeAddress];
        const older = { namespace: 'other', name: 'older', creationTimestamp: '2020-01-01T00:00:00Z' };
        const ports = [80, 30080, 443].map((port) => ({ name: `p${port}`, port }));
        const clusterIPs = [family === 'IPv4' ? '10.96.0.77' : '2001:db8:96::77'];
        const spec = { clusterIP: clusterIPs[0] ?? '', clusterIPs, externalIPs: claimed, ports };
        const named = slices(['far']).map((each) => ({
          ...each,
          ports: ports.map(({ name }) => ({ name, port: 8080 })),
        }));
        const intruder = { service: { metadata: older, spec, status: { loadBalancer: {} } }, ...of, slices: named };
        table.set('Service other/older', routesOf(intruder), precedenceOf(intruder));
        await route(service({ type: 'LoadBalancer' }), slices(['podA']));
        assert.deepEqual(names(await cluster.client.dial(vip, 80)), ['podA']);
        assert.deepEqual(names(await cluster.client.dial(vip, 443)), ['refused']);
        assert.deepEqual(names(await cluster.client.dial(balancer, 80)), ['podA']);
        assert.deepEqual(names(await cluster.client.dial(nodeAddress, 30080)), ['podA']);
        assert.deepEqual(names(await cluster.client.dial(nodeAddress, 443)), ['far'], 'which nobody was given');
        table.set('Service other/older', []);
        await backend.apply(table.takeChange());
      });

      test('node ports and load balancers with policy Cluster', async () => {
        const { cluster, route } = routed;
        await route(service({ type: 'LoadBalancer' }), slices(['far']));
        assert.deepEqual(await cluster.client.dial(nodeAddress, 30080), [`far ${towardsFar}`]);
        assert.deepEqual(await cluster.client.dial(balancer, 80), [`far ${towardsFar}`]);
      });

      test('policy Local preserves the client address, and serves Pods as policy Cluster does', async () => {
        const { cluster, route } = routed;
        const local = service({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' });
        await route(local, slices(['podA', 'far']));
        const answers = await cluster.client.dial(balancer, 80, { count: 20 });
        assert.deepEqual(new Set(answers), new Set([`podA ${outsider}`]));
        assert.deepEqual(await cluster.client.dial(nodeAddress, 30080), [`podA ${outsider}`]);
        await route(local, slices(['far']));
        assert.match((await cluster.podA.dial(balancer, 80)).join(), /^far (10\.1\.0\.11|2001:db8:1::11)$/);
        assert.deepEqual(await cluster.node.dial(balancer, 80), [`far ${towardsFar}`]);
      });

      test('source ranges close a load balancer to other clients, and nothing else', async () => {
        const { cluster, route } = routed;
        const ranged = (...loadBalancerSourceRanges: string[]): Service =>
          service({ type: 'LoadBalancer', loadBalancerSourceRanges });
        await route(ranged('198.51.100.0/24', '10.1.0.11/32', '2001:db8:1::11/128'), slices(['podA']));
        assert.deepEqual(await cluster.client.dial(balancer, 80, quick), ['silence']);
        assert.deepEqual(names(await cluster.podA.dial(balancer, 80)), ['podA']);
        assert.deepEqual(names(await cluster.client.dial(nodeAddress, 30080)), ['podA']);
        for (const open of [`${outsider}/${family === 'IPv4' ? 24 : 64}`, family === 'IPv4' ? '0.0.0.0/0' : '::/0']) {
          await route(ranged(open), slices(['podA']));
          assert.deepEqual(names(await cluster.client.dial(balancer, 80)), ['podA'], open);
        }
      });

      test('LB-7 no packet passes to a port that the load balancer could not open, until it is opened', async () => {
        const { cluster, route } = routed;
        const gated = (error?: string): Service =>
          service({ type: 'LoadBalancer', ports: onBoth(80, 30080) }, [
            {
              ip: balancer,
              ports: [
                { port: 80, protocol: 'TCP' },
                { port: 80, protocol: 'UDP', ...(error === undefined ? {} : { error }) },
              ],
            },
          ]);
        const both = slicesOnBoth('podA', 'podB');
        const send = (to: string, port: number, options = {}): Promise<string> =>
          cluster.client.send(`gate ${Math.random()}`, to, port, options);
        await route(gated('MixedProtocolNotSupported'), both);
        const before = await cluster.podA.received();
        assert.equal(await send(balancer, 80, quick), 'silence');
        assert.equal(await cluster.podA.received(), before, 'nothing arrived');
        assert.deepEqual(names(await cluster.client.dial(balancer, 80)), ['podB'], 'the other port is open');
        assert.deepEqual(names([await send(vip, 80), await send(nodeAddress, 30080)]), ['podA']);
        await route(gated('MixedProtocolNotSupported'), both, { lbPortGate: 'ignore' });
        assert.deepEqual(
          names([await send(balancer, 80)]),
          ['podA'],
          'as kube-proxy does, where the Service requests it',
        );
        await route(gated(), both);
        assert.deepEqual(names([await send(balancer, 80)]), ['podA'], 'it was opened');
      });

      test('hints keep connections on this node, unless an endpoint has none', async () => {
        const { cluster, route } = routed;
        const hints = (name: PodName) => ({ forNodes: [{ name: name === 'far' ? 'other' : 'node' }] });
        const near = service({ trafficDistribution: 'PreferSameNode' });
        await route(near, slices(['podA', 'podB', 'far'], { hints }));
        assert.deepEqual(names(await cluster.podA.dial(vip, 80, { count: 30 })), ['podA', 'podB']);
        const some = (name: PodName) => (name === 'far' ? undefined : hints(name));
        await route(near, slices(['podA', 'far'], { hints: some }));
        assert.deepEqual(names(await cluster.podB.dial(vip, 80, { count: 40 })), ['far', 'podA']);
      });
    });
  }

  test('node ports at loopback have listeners, because the kernel does not translate there', async () => {
    const { node } = routed.cluster;
    const [command, ...args] = node.within(process.execPath);
    const proxy = spawn(command, [...args, loopbackProgram], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(proxy, 'exit');
    const [line] = await once(createInterface({ input: proxy.stdout }), 'line');
    assert.equal(line, '[]', 'nothing is in the way');
    for (const address of ['127.0.0.1', '::1']) {
      assert.deepEqual(names([await node.send(`loopback ${address}`, address, 30080)]), ['podA']);
      assert.deepEqual(names(await node.dial(address, 30080)), ['podB']);
    }
    proxy.stdin.end();
    assert.deepEqual(await ended, [0, null]);
  });
});
