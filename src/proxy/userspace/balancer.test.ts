import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import * as fc from 'fast-check';

import { clients, routesOfService } from '../routes/testing/arbitrary.ts';
import { decide } from '../routes/decide.ts';
import { network } from '../routes/testing/objects.ts';
import type { Route } from '../routes/route.ts';
import { routeKey } from '../routes/route.ts';
import { RoutingTable } from '../routes/table.ts';
import { forward, route, target } from './testing/echo.ts';
import { dialTimeoutMs } from './options.ts';
import { AffinityTable } from './affinity-table.ts';
import { Balancer } from './balancer.ts';

/** A reproducible random sequence. */
function draws(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const none = { random: () => 0, now: () => 0, maxAffinityEntries: 10, maxAttempts: 4 };
const [a, b, c] = ['10.1.0.1', '10.1.0.2', '10.1.0.3'].map((address) => ({ address, port: 80 }));
assert.ok(a && b && c);

/** A Service changes, a client connects, or time passes. */
const step = fc.oneof(
  fc.integer({ min: 1, max: 3 }).chain((host) => fc.record({ host: fc.constant(host), routes: routesOfService(host) })),
  fc.record({ client: fc.nat({ max: 4 }), at: fc.nat() }),
  fc.record({ client: fc.nat({ max: 4 }), at: fc.nat() }),
  fc.record({ seconds: fc.integer({ min: 1, max: 100 }) }),
);

test('chooses the same targets as the routing table', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat(), (steps, seed) => {
      let nowMs = 0;
      const now = (): number => nowMs;
      const table = new RoutingTable(network);
      const balancer = new Balancer({ ...none, random: draws(seed), now, maxAffinityEntries: 1000 });
      const random = draws(seed);
      const affinity = new Map<string, { address: string; port: number; untilMs: number }>();
      balancer.change({ isAll: true, removed: [], added: [], network });
      for (const each of steps) {
        if ('seconds' in each) nowMs += each.seconds * 1000;
        else if ('host' in each) {
          table.set(`Service ${each.host}`, each.routes, { since: String(each.host) });
          balancer.change({ ...table.takeChange(), isAll: false, network });
        } else {
          const routes = [...table.routes.values()];
          const chosen = routes[each.at % Math.max(1, routes.length)];
          if (chosen === undefined) continue;
          const source = clients[chosen.family][each.client] ?? '';
          const key = routeKey(chosen);
          const entry = affinity.get(`${key} ${source}`);
          const affinityTarget = entry !== undefined && entry.untilMs > nowMs ? entry : undefined;
          const want = decide(table, { ...chosen, source }, { random, affinityTarget });
          const got = balancer.choose({ key, source, sourcePort: 1, failed: new Set() });
          assert.equal(got.type, want.type);
          if (want.type !== 'forward' || got.type !== 'forward') continue;
          assert.deepEqual(got.target, want.target);
          const { address, port } = want.target;
          affinity.set(`${key} ${source}`, { address, port, untilMs: nowMs + want.affinitySeconds * 1000 });
        }
      }
    }),
    { numRuns: 300 },
  );
});

describe('after failures', () => {
  const vip = '10.96.0.1';
  const balancerWith = (routes: readonly Route[], now = (): number => 0): Balancer => {
    const balancer = new Balancer({ ...none, now });
    balancer.change({ isAll: true, removed: [], added: routes, network });
    return balancer;
  };
  const key = routeKey(route(vip, { type: 'reject' }));

  test('tries each target once, then rejects', () => {
    const balancer = balancerWith([route(vip, forward(target(a), target(b), target(c)))]);
    const pending = { key, source: '10.1.0.9', sourcePort: 1, failed: new Set<string>() };
    const tried: string[] = [];
    for (;;) {
      const decision = balancer.choose(pending);
      if (decision.type !== 'forward') break;
      assert.equal(decision.isLast, tried.length === 2);
      tried.push(decision.target.address);
      balancer.failed(pending, decision.target);
    }
    assert.deepEqual(tried.toSorted(), [a.address, b.address, c.address]);
  });

  test('increases the dial timeout with each target; the last has the longest', () => {
    assert.deepEqual(
      [0, 1, 2, 3].map((failures) => dialTimeoutMs(failures, failures === 3)),
      [250, 500, 1000, 5000],
    );
    assert.equal(dialTimeoutMs(0, true), 5000, 'the only target');
  });

  test('prefers other targets for a second after a failure', () => {
    let nowMs = 0;
    const balancer = balancerWith([route(vip, forward(target(a), target(b)))], () => nowMs);
    const connect = (): string => {
      const decision = balancer.choose({ key, source: '10.1.0.9', sourcePort: 1, failed: new Set() });
      return decision.type === 'forward' ? decision.target.address : decision.type;
    };
    assert.equal(connect(), a.address);
    balancer.failed({ key, source: '10.1.0.9', sourcePort: 1, failed: new Set() }, target(a));
    assert.equal(connect(), b.address);
    balancer.failed({ key, source: '10.1.0.9', sourcePort: 1, failed: new Set() }, target(b));
    assert.equal(connect(), a.address);
    nowMs = 1001;
    assert.equal(connect(), a.address);
  });

  test('stores the target that answered for session affinity', () => {
    const balancer = balancerWith([route(vip, forward(target(a, 60), target(b, 60)))]);
    const pending = { key, source: '10.1.0.9', sourcePort: 1, failed: new Set<string>() };
    const first = balancer.choose(pending);
    assert.ok(first.type === 'forward');
    balancer.failed(pending, first.target);
    const second = balancer.choose(pending);
    assert.ok(second.type === 'forward');
    const later = balancer.choose({ ...pending, failed: new Set() });
    assert.ok(later.type === 'forward');
    assert.equal(later.target.address, second.target.address);
  });
});

test('removes the least recently used entry of a full affinity table', () => {
  const table = new AffinityTable({ maxEntries: 3, now: () => 0 });
  for (const client of ['1', '2', '3']) table.set('r', client, target(a, 60));
  table.set('r', '1', target(b, 60));
  table.set('r', '4', target(a, 60));
  assert.equal(table.size, 3);
  assert.equal(table.get('r', '2'), undefined);
  assert.equal(table.get('r', '1')?.address, b.address);
});
