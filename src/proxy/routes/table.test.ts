import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { derivedFromAnnotation } from '../../api/kinds/multicluster/labels.ts';
import { routesOfService } from './arbitrary.fixture.ts';
import { isOfOneImport } from './derived.ts';
import { endpoint, network, node, service, slice } from './objects.fixture.ts';
import type { Route } from './route.ts';
import { routeKey } from './route.ts';
import { routesOf } from './routes.ts';
import { RoutingTable } from './table.ts';

const routes = (name: string, addresses: readonly string[]): readonly Route[] =>
  routesOf({ service: service({}, { name }), slices: [slice(addresses.map((address) => endpoint(address)))], node });

test('what changed is told once, and what was undone is not told', () => {
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

test('of two that want one address the older one has it, in whatever order they come, until it goes', () => {
  const orders = [
    ['old', 'young'],
    ['young', 'old'],
  ] as const;
  for (const order of orders) {
    const table = new RoutingTable(network);
    for (const name of order) {
      table.set(`Service shop/${name}`, routes(name, ['10.1.0.1']), name === 'old' ? '2020-01-01' : '2026-01-01');
    }
    const holder = (): string | undefined => table.routes.get('10.96.0.10 TCP 80')?.owner;
    assert.equal(holder(), 'Service shop/old');
    assert.deepEqual(table.conflicts(), [
      { key: '10.96.0.10 TCP 80', winner: 'Service shop/old', loser: 'Service shop/young' },
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

test('an import and the Service that stands for it do not fight for their address', () => {
  const conflict = { key: '10.96.0.10 TCP 80', winner: 'Import shop/web', loser: 'Service shop/derived-1' };
  const annotated = (from: string) => () => ({
    ...service(),
    metadata: { name: 'derived-1', namespace: 'shop', annotations: { [derivedFromAnnotation]: from } },
  });
  assert.equal(isOfOneImport(conflict, annotated('shop/web')), true);
  assert.equal(
    isOfOneImport({ ...conflict, winner: conflict.loser, loser: conflict.winner }, annotated('shop/web')),
    true,
  );
  assert.equal(isOfOneImport(conflict, annotated('shop/cart')), false);
  assert.equal(
    isOfOneImport(conflict, () => service()),
    false,
  );
});

test('the changes of a table add up to it, and its order does not matter', () => {
  const steps = fc.array(
    fc.integer({ min: 1, max: 4 }).chain((host) =>
      // Two owners for one number: they want the same addresses.
      fc
        .record({
          owner: fc.constantFrom('a', 'b'),
          routes: fc.oneof(routesOfService(host), fc.constant<readonly Route[]>([])),
        })
        .map((step) => ({ ...step, host })),
    ),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(steps, (given) => {
      const table = new RoutingTable(network);
      const mirror = new Map<string, Route>();
      const last = new Map<string, readonly Route[]>();
      for (const { owner: letter, host, routes: made } of given) {
        const owner = `Service ${letter}/s${host}`;
        const own = made.map((route) => ({ ...route, owner }));
        last.set(owner, own);
        table.set(owner, own);
        const { removed, added } = table.takeChange();
        for (const route of removed) assert.ok(mirror.delete(routeKey(route)));
        for (const route of added) mirror.set(routeKey(route), route);
        assert.deepEqual(mirror, table.routes);
      }
      const other = new RoutingTable(network);
      for (const [owner, own] of [...last].reverse()) other.set(owner, own);
      assert.deepEqual(other.routes, table.routes);
    }),
    { numRuns: 60 },
  );
});
