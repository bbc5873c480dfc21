// The nftables backend in network namespaces: clients and owners of other tables notice neither changes nor failures.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { Service } from '../../src/api/kinds/core/service/schema.ts';
import { routesOf } from '../../src/proxy/routes/routes.ts';
import { unless } from '../harness/needs.ts';
import { whyNoNamespaces } from './namespaces/cluster.ts';
import type { Namespace } from './namespaces/namespace.ts';
import type { Routed } from './namespaces/routed.ts';
import { names, node, places, service, slices, startRouted } from './namespaces/routed.ts';

const [{ vip }] = places;
const foreign = 'somebody-elses';

describe('nftables', { skip: unless(whyNoNamespaces()) }, () => {
  let routed: Routed;
  let foreignRules = '';
  const listForeign = (): string => routed.cluster.node.run('nft', 'list', 'table', 'ip', foreign);

  before(async () => {
    routed = await startRouted();
    const nft = (text: string): string => routed.cluster.node.run('nft', text);
    nft(`add table ip ${foreign}; add set ip ${foreign} s { type ipv4_addr ; elements = { ${vip} } ; }`);
    nft(
      `add chain ip ${foreign} c { type filter hook forward priority 0 ; }; add rule ip ${foreign} c ip daddr @s accept`,
    );
    foreignRules = listForeign();
  });
  after(() => routed[Symbol.asyncDispose]());

  test('no connection is lost while all rules are reloaded and endpoints change', async (context) => {
    const { cluster, backend, table, route } = routed;
    const clients: readonly Namespace[] = [cluster.client, cluster.podA];
    await route(service(), slices(['podA', 'podB', 'far']));
    for (const client of clients) await client.execute({ do: 'load', address: vip, port: 80, parallel: 16 });
    const started = performance.now();
    let rounds = 0;
    for (; rounds < 10 || performance.now() - started < 2000; rounds++) {
      // The number of endpoints changes in both ways: by a full load and by a difference.
      table.set('Service shop/1-web', routesOf({ service: service(), slices: slices(['podA', 'far']), node }));
      table.takeChange();
      await backend.replace(table);
      await route(service(), slices(['podA', 'podB', 'far']));
    }
    const seconds = (performance.now() - started) / 1000;
    let total = 0;
    for (const client of clients) {
      const [counts = ''] = await client.execute({ do: 'stop' });
      const [good = 0, bad = 0] = counts.split(' ').map(Number);
      assert.equal(bad, 0);
      total += good;
    }
    context.diagnostic(`${rounds} full loads and ${rounds} changes under ${Math.round(total / seconds)} connections/s`);
    assert.ok(total > 100, `${total} connections`);
  });

  test('a rejected transaction keeps the old rules, and a full load recovers', async () => {
    const { cluster, backend, table, route } = routed;
    await route(service(), slices(['podA']));
    // A foreign edit makes the next transaction fail.
    cluster.node.run('nft', 'add element ip fairlead-proxy services { 10.96.0.77 . tcp . 80 : drop }');
    const second: Service = {
      ...service({ clusterIP: '10.96.0.77', clusterIPs: ['10.96.0.77'] }),
      metadata: { name: 'b' },
    };
    table.set('Service shop/1-web', routesOf({ service: service(), slices: slices(['podB']), node }));
    table.set('Service b', routesOf({ service: second, slices: slices(['far']), node }));
    await assert.rejects(backend.apply(table.takeChange()), /nft refused a transaction/);
    assert.deepEqual(
      names(await cluster.client.dial(vip, 80, { count: 10 })),
      ['podA'],
      'a transaction applies completely or not at all',
    );
    await backend.replace(table);
    assert.deepEqual(names(await cluster.client.dial(vip, 80, { count: 10 })), ['podB']);
    assert.deepEqual(names(await cluster.client.dial('10.96.0.77', 80)), ['far']);
    table.set('Service b', []);
    await backend.apply(table.takeChange());
  });

  test('a table of another structure under its name is replaced', async () => {
    const { cluster, backend, table, route } = routed;
    await route(service(), slices(['podA']));
    cluster.node.run(
      'nft',
      'delete table ip fairlead-proxy; add table ip fairlead-proxy; add set ip fairlead-proxy services { type inet_service ; }',
    );
    await backend.replace(table);
    assert.deepEqual(names(await cluster.client.dial(vip, 80)), ['podA']);
  });

  test('cleaning up removes everything, and no table of others', async () => {
    const { cluster, backend } = routed;
    await backend.cleanup();
    assert.equal(listForeign(), foreignRules);
    assert.doesNotMatch(cluster.node.run('nft', 'list', 'ruleset'), /fairlead/);
    await backend.cleanup();
  });
});
