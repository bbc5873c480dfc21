// The scenarios of a set with members that are dialled, reached by a tunnel, and reached by gateways.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import type { ServicePort } from '../../src/api/kinds/core/service/schema.ts';
import { audienceAnnotation } from '../../src/api/kinds/multicluster/audience.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { until } from '../../src/server/testing/until.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { answerOf } from '../multicluster/caller.ts';
import type { SetCluster } from '../multicluster/set.ts';
import type { MixedSet } from './mixed-set.ts';
import { startMixedSet } from './mixed-set.ts';

const zone = (name: string): string => `${name}.shop.svc.supercluster.local`;
const http = { name: 'http', port: 8080, protocol: 'TCP' } as const;

describe('a direct member, one with a tunnel and one with a gateway', { skip: unlessInstalled('curl', 'dig') }, () => {
  const stack = new AsyncDisposableStack();
  let set: MixedSet;
  let clusters: readonly SetCluster[] = [];
  before(async () => {
    set = await startMixedSet(stack);
    clusters = [set.east, set.west, set.north];
  });
  after(() => stack.disposeAsync());

  const others = (cluster: SetCluster): readonly SetCluster[] => clusters.filter((each) => each !== cluster);
  /** The clusters that answer twelve connections of a client in a cluster, 'nobody' for those that fail. */
  const answering = async (from: SetCluster, name: string): Promise<string> => {
    const address = await from.resolve(zone(name));
    if (address === '') return '';
    const calls = Array.from({ length: 12 }, () => answerOf(`http://${address}:8080/`));
    return [...new Set((await Promise.all(calls)).map((answer = 'nobody') => answer))].toSorted().join();
  };
  const answerEverywhere = async (name: string, want: string): Promise<void> => {
    for (const from of clusters)
      await until(`${want} answer in ${from.place.id}`, async () => (await answering(from, name)) === want);
  };
  /** Waits until all connections from other clusters go to other clusters. */
  const avoid = async (cluster: SetCluster, name: string): Promise<void> => {
    const rest = others(cluster).map(({ place }) => place.id);
    for (const from of others(cluster))
      await until(`${from.place.id} avoids ${cluster.place.id}`, async () =>
        (await answering(from, name)).split(',').every((each) => rest.includes(each)),
      );
  };
  const all = 'east,north,west';
  const patchPorts = ({ client }: SetCluster, name: string, ports: readonly ServicePort[]): Promise<unknown> =>
    client.patch(serviceKind, { namespace: 'shop', name }, { body: { spec: { ports } } });
  const setAudience = ({ client }: SetCluster, name: string, audience: string | null): Promise<unknown> =>
    client.patch(
      superclusterExportKind,
      { namespace: 'shop', name },
      { body: { metadata: { annotations: { [audienceAnnotation]: audience } } } },
    );

  const conditionOf = async ({ client }: SetCluster, name: string, type: string): Promise<string | undefined> => {
    const { status } = await client.get(superclusterExportKind, { namespace: 'shop', name });
    return status?.conditions?.find((each) => each.type === type)?.status;
  };

  test('a service of each is used by clients in every other', async () => {
    for (const to of clusters) {
      await to.serve(`web-${to.place.id}`);
      await to.export(`web-${to.place.id}`);
    }
    for (const to of clusters)
      for (const from of clusters)
        await until(
          `${from.place.id} reaches ${to.place.id}`,
          async () => (await from.curl(zone(`web-${to.place.id}`))) === to.place.id,
        );
    for (const { place } of others(set.north)) {
      const why = await set.mcs('why', 'shop/web-north', '--from', place.id);
      assert.match(why, /north is reached by its gateways at \S+:9443, from gateways at \S+:2\d{4}/);
    }
  });

  test('one service of all is answered by all', async () => {
    for (const each of clusters) {
      await each.serve('cart');
      await each.export('cart');
    }
    await answerEverywhere('cart', all);
  });

  for (const id of ['east', 'west', 'north'] as const)
    test(`a drain of ${id} moves connections away, and they return after it`, async () => {
      await set.mcs('drain', id);
      await avoid(set[id], 'cart');
      await set.mcs('undrain', id);
      await answerEverywhere('cart', all);
    });

  test('ports that change are followed', async () => {
    const added = { name: 'alt', port: 8090, targetPort: 8080, protocol: 'TCP' } as const;
    for (const each of clusters) await patchPorts(each, `web-${each.place.id}`, [http, added]);
    const reach = async (port: number, isThere: boolean): Promise<void> => {
      for (const to of clusters)
        for (const from of others(to))
          await until(
            `${from.place.id} reaches ${to.place.id} at port ${port}: ${isThere}`,
            async () => ((await from.curl(zone(`web-${to.place.id}`), port)) === to.place.id) === isThere,
          );
    };
    await reach(8090, true);
    for (const each of clusters) await patchPorts(each, `web-${each.place.id}`, [http]);
    await reach(8090, false);
    await reach(8080, true);
  });

  test('clusters outside of an audience get nothing, until they are in it', async () => {
    for (const to of clusters) {
      const name = `web-${to.place.id}`;
      const [inside, outside] = others(to);
      assert.ok(inside && outside);
      await setAudience(to, name, inside.place.id);
      await until('the cluster outside has no name', async () => (await outside.resolve(zone(name))) === '');
      await until('nor endpoints', async () => (await outside.endpoints(name)).length === 0);
      assert.equal(await inside.curl(zone(name)), to.place.id);
      await setAudience(to, name, null);
      await until('the cluster is inside', async () => (await outside.curl(zone(name))) === to.place.id);
    }
  });

  for (const id of ['east', 'west', 'north'] as const)
    test(`a conflict that ${id} causes withdraws the service, and its resolution brings it back`, async () => {
      await patchPorts(set[id], 'cart', [{ ...http, port: 8081, targetPort: 8080 }]);
      for (const each of clusters)
        await until(`${each.place.id} has no import`, async () => (await each.sources('cart')) === '');
      await until(
        'its export has the condition',
        async () => (await conditionOf(set[id], 'cart', 'Conflict')) === 'True',
      );
      await patchPorts(set[id], 'cart', [http]);
      await answerEverywhere('cart', all);
    });

  for (const id of ['east', 'west', 'north'] as const)
    test(`the endpoints of ${id} are removed when its lease expires, and return with it`, async () => {
      process.kill(set[id].pid, 'SIGSTOP');
      try {
        for (const each of others(set[id]))
          await until('its endpoints are gone', async () => !(await each.endpoints('cart')).includes(id));
        await avoid(set[id], 'cart');
      } finally {
        process.kill(set[id].pid, 'SIGCONT');
      }
      await answerEverywhere('cart', all);
    });

  test('a headless service of members with routed Pods resolves to them; behind gateways it is refused', async () => {
    for (const each of clusters) {
      const name = `db-${each.place.id}`;
      await each.serve(name, { clusterIP: 'None' });
      await each.export(name);
    }
    for (const to of [set.east, set.west]) {
      for (const from of clusters)
        await until('the Pod answers', async () => (await from.curl(zone(`db-${to.place.id}`))) === to.place.id);
    }
    await until('the export is False', async () => (await conditionOf(set.north, 'db-north', 'Exported')) === 'False');
    for (const from of others(set.north)) assert.deepEqual(await from.endpoints('db-north'), []);
  });

  test('a withdrawn export is gone everywhere, also from a service that others export', async () => {
    for (const each of clusters) {
      const name = `web-${each.place.id}`;
      await each.unexport(name);
      for (const from of others(each)) {
        await until('the name is gone', async () => (await from.resolve(zone(name))) === '');
        await until('and its endpoints', async () => (await from.endpoints(name)).length === 0);
      }
    }
    await set.north.unexport('cart');
    await answerEverywhere('cart', 'east,west');
    await set.west.unexport('cart');
    await answerEverywhere('cart', 'east');
  });
});
