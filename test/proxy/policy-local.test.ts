// Policy Local, with rules of the kernel and with listeners: which clients are served, get no answer, or are refused.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { unless } from '../harness/needs.ts';
import { whyNoNamespaces } from './namespaces/cluster.ts';
import { startListened } from './namespaces/listened.ts';
import { names, onBoth, places, service, slices, slicesOnBoth, startRouted } from './namespaces/routed.ts';

const quick = { timeoutMs: 300 };
const modes = { nftables: startRouted, userspace: startListened };

for (const [mode, start] of Object.entries(modes)) {
  describe(`policy Local: ${mode}`, { skip: unless(whyNoNamespaces()) }, () => {
    let stand: Awaited<ReturnType<typeof startListened>>;
    before(async () => {
      stand = await start();
    });
    after(() => stand[Symbol.asyncDispose]());

    for (const { family, vip, balancer, nodeAddress } of places) {
      test(`${family}: external traffic is dropped if only other nodes have endpoints, except from clients on this node`, async () => {
        const { cluster, route } = stand;
        const local = service({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' });
        await route(local, slices(['podA', 'far']));
        assert.deepEqual(names(await cluster.client.dial(balancer, 80, { count: 10 })), ['podA']);
        await route(local, slices(['far']));
        for (const [address, port] of [
          [balancer, 80],
          [nodeAddress, 30080],
        ] as const) {
          assert.deepEqual(await cluster.client.dial(address, port, quick), ['silence'], 'no load balancer is misled');
          assert.deepEqual(names(await cluster.podA.dial(address, port)), ['far']);
          assert.deepEqual(names(await cluster.node.dial(address, port)), ['far']);
        }
        await route(local, slices(['podB', 'far']));
        assert.deepEqual(names(await cluster.client.dial(balancer, 80, { count: 10 })), ['podB'], 'it is back');
      });

      test(`${family}: internal traffic is dropped if only other nodes have endpoints`, async () => {
        const { cluster, route } = stand;
        const local = service({ internalTrafficPolicy: 'Local' });
        await route(local, slices(['far']));
        const all = [cluster.podA, cluster.node, cluster.client];
        const answers = await Promise.all(all.map((from) => from.dial(vip, 80, quick)));
        assert.deepEqual(answers.flat(), ['silence', 'silence', 'silence']);
        await route(local, slices(['podB', 'far']));
        assert.deepEqual(names(await cluster.podA.dial(vip, 80, { count: 10 })), ['podB']);
      });

      test(`${family}: without any endpoints all connections are refused`, async () => {
        const { cluster, route } = stand;
        const policies = { internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' } as const;
        await route(service({ type: 'LoadBalancer', ...policies }), slices([]));
        for (const from of [cluster.podA, cluster.node, cluster.client]) {
          assert.deepEqual(await from.dial(vip, 80), ['refused']);
          assert.deepEqual(await from.dial(balancer, 80), ['refused']);
          assert.deepEqual(await from.dial(nodeAddress, 30080), ['refused']);
        }
      });

      test(`${family}: datagrams are treated like connections`, async () => {
        const { cluster, route } = stand;
        const policies = { internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' } as const;
        await route(
          service({ type: 'LoadBalancer', ...policies, ports: onBoth(80, 30080) }),
          slicesOnBoth('far', 'far'),
        );
        const id = (): string => `local ${Math.random()}`;
        const unheard = [cluster.client.send(id(), balancer, 80, quick), cluster.podA.send(id(), vip, 80, quick)];
        assert.deepEqual(names([await cluster.podA.send(id(), balancer, 80)]), ['far']);
        assert.deepEqual(await Promise.all(unheard), ['silence', 'silence']);
      });

      test(`${family}: source ranges drop connections of other clients`, async () => {
        const { cluster, route } = stand;
        const loadBalancerSourceRanges = ['10.1.0.11/32', '2001:db8:1::11/128'];
        await route(service({ type: 'LoadBalancer', loadBalancerSourceRanges }), slices(['podB']));
        assert.deepEqual(await cluster.client.dial(balancer, 80, quick), ['silence']);
        assert.deepEqual(names(await cluster.podA.dial(balancer, 80)), ['podB']);
        assert.deepEqual(
          names(await cluster.client.dial(nodeAddress, 30080)),
          ['podB'],
          'source ranges do not apply to node ports',
        );
      });
    }
  });
}
