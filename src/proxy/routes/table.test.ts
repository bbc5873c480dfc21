import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { derivedFromAnnotation } from '../../api/kinds/multicluster/labels.ts';
import { routesOfService } from './testing/arbitrary.ts';
import { isOfOneImport } from './derived.ts';
import { endpoint, network, node, service, slice } from './testing/objects.ts';
import type { Route } from './route.ts';
import { routeKey } from './route.ts';
import { routesOf } from './routes.ts';
import type { Reservation, Precedence } from './precedence.ts';
import { RoutingTable } from './table.ts';

const reservationBases = ['clusterIP', 'import', 'healthCheck', 'loadBalancer'] as const;

const routes = (name: string, addresses: readonly string[]): readonly Route[] =>
  routesOf({ service: service({}, { name }), slices: [slice(addresses.map((address) => endpoint(address)))], node });

test('returns each change once, and no reverted change', () => {
  const table = new RoutingTable(network);
  table.set('Service shop/web', routes('web', ['10.1.0.1']));
  assert.deepEqual(table.takeChange(), { removed: [], added: routes('web', ['10.1.0.1']) });
  assert.deepEqual(table.takeChange(), { removed: [], added: [] });
  table.set('Service shop/web', routes('web', ['10.1.0.2']));
  table.set('Service shop/web', routes('web', ['10.1.0.1']));
  assert.deepEqual(table.takeChange(), { removed: [], added: [] });
  table.set('Service shop/web', []);
  assert.deepEqual(table.takeChange(), { removed: routes('web', ['10.1.0.1']), added: [] });
});

test('gives an address to the oldest owner, whatever the order of changes', () => {
  const orders = [
    ['old', 'young'],
    ['young', 'old'],
  ] as const;
  for (const order of orders) {
    const table = new RoutingTable(network);
    for (const name of order) {
      table.set(`Service shop/${name}`, routes(name, ['10.1.0.1']), {
        since: name === 'old' ? '2020-01-01' : '2026-01-01',
      });
    }
    const holder = (): string | undefined => table.routes.get('10.96.0.10 TCP 80')?.owner;
    assert.equal(holder(), 'Service shop/old');
    assert.deepEqual(table.conflicts(), [
      {
        address: '10.96.0.10',
        protocol: 'TCP',
        port: 80,
        winner: 'Service shop/old',
        basis: 'clusterIP',
        loser: 'Service shop/young',
      },
    ]);
    table.set('Service shop/old', []);
    assert.equal(holder(), 'Service shop/young');
    assert.deepEqual(table.conflicts(), []);
    assert.equal(table.isClusterIp('10.96.0.10'), true);
    table.set('Service shop/young', []);
    assert.equal(holder(), undefined);
    assert.equal(table.isClusterIp('10.96.0.10'), false);
  }
});

test('reports no conflict between an import and its derived Service', () => {
  const conflict = { winner: 'Import shop/web', loser: 'Service shop/derived-1' };
  const annotated = (from: string) => () => ({
    ...service(),
    metadata: { name: 'derived-1', namespace: 'shop', annotations: { [derivedFromAnnotation]: from } },
  });
  assert.equal(isOfOneImport(conflict, annotated('shop/web')), true);
  assert.equal(isOfOneImport({ winner: conflict.loser, loser: conflict.winner }, annotated('shop/web')), true);
  assert.equal(isOfOneImport(conflict, annotated('shop/cart')), false);
  assert.equal(
    isOfOneImport(conflict, () => service()),
    false,
  );
});

test('returns changes that add up to the table, whatever their order', () => {
  const manySteps = fc.array(
    fc.integer({ min: 1, max: 4 }).chain((host) =>
      // Two owners for one number: they want the same addresses.
      fc
        .record({
          owner: fc.constantFrom('a', 'b'),
          routes: fc.oneof(routesOfService(host), fc.constant<readonly Route[]>([])),
          since: fc.constantFrom('2020', '2026'),
          isImport: fc.boolean(),
          reservations: fc.array(
            fc.record({ at: fc.nat(), isPort: fc.boolean(), basis: fc.constantFrom(...reservationBases) }),
          ),
        })
        .map((step) => ({ ...step, host })),
    ),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(manySteps, (steps) => {
      const table = new RoutingTable(network);
      const mirror = new Map<string, Route>();
      const last = new Map<string, { readonly own: readonly Route[]; readonly standing: Precedence }>();
      for (const { owner: letter, host, routes: made, reservations: given, ...rest } of steps) {
        const owner = `Service ${letter}/s${host}`;
        const own = made.map((route) => ({ ...route, owner }));
        const reservations = given.flatMap(({ at, isPort, basis }): readonly Reservation[] => {
          const route = own[at % Math.max(1, own.length)];
          return route === undefined ? [] : [{ place: isPort ? routeKey(route) : route.address, basis }];
        });
        const standing = { ...rest, reservations };
        last.set(owner, { own, standing });
        table.set(owner, own, standing);
        const { removed, added } = table.takeChange();
        for (const route of removed) assert.ok(mirror.delete(routeKey(route)));
        for (const route of added) mirror.set(routeKey(route), route);
        assert.deepEqual(mirror, table.routes);
      }
      const other = new RoutingTable(network);
      for (const [owner, { own, standing }] of [...last].reverse()) other.set(owner, own, standing);
      assert.deepEqual(other.routes, table.routes);
      const texts = (of: RoutingTable): readonly string[] =>
        of
          .conflicts()
          .map((each) => JSON.stringify(each))
          .sort();
      assert.deepEqual(texts(other), texts(table));
      for (const owner of last.keys()) table.set(owner, []);
      assert.deepEqual([table.routes.size, table.conflicts()], [0, []]);
    }),
    { numRuns: 60 },
  );
});
