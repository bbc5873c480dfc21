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
import { Pins } from './pins.ts';
import { Switchboard } from './switchboard.ts';

/** Numbers that look random and are the same for all who ask. */
function draws(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const none = { random: () => 0, now: () => 0, mostPins: 10, mostAttempts: 4 };
const [a, b, c] = ['10.1.0.1', '10.1.0.2', '10.1.0.3'].map((address) => ({ address, port: 80 }));
assert.ok(a && b && c);

/** What happens to a proxy: a Service changes, somebody connects, or time passes. */
const step = fc.oneof(
  fc.integer({ min: 1, max: 3 }).chain((host) => fc.record({ host: fc.constant(host), routes: routesOfService(host) })),
  fc.record({ client: fc.nat({ max: 4 }), at: fc.nat() }),
  fc.record({ client: fc.nat({ max: 4 }), at: fc.nat() }),
  fc.record({ seconds: fc.integer({ min: 1, max: 100 }) }),
);

test('every connection goes where the model says, whatever happened before', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat(), (steps, seed) => {
      let nowMs = 0;
      const now = (): number => nowMs;
      const table = new RoutingTable(network);
      const board = new Switchboard({ ...none, random: draws(seed), now, mostPins: 1000 });
      const random = draws(seed);
      const pins = new Map<string, { address: string; port: number; untilMs: number }>();
      board.change({ isAll: true, removed: [], added: [], network });
      for (const each of steps) {
        if ('seconds' in each) nowMs += each.seconds * 1000;
        else if ('host' in each) {
          table.set(`Service ${each.host}`, each.routes, { since: String(each.host) });
          board.change({ ...table.takeChange(), isAll: false, network });
        } else {
          const routes = [...table.routes.values()];
          const chosen = routes[each.at % Math.max(1, routes.length)];
          if (chosen === undefined) continue;
          const source = clients[chosen.family][each.client] ?? '';
          const key = routeKey(chosen);
          const pin = pins.get(`${key} ${source}`);
          const pinned = pin !== undefined && pin.untilMs > nowMs ? pin : undefined;
          const want = decide(table, { ...chosen, source }, { random, pinned });
          const got = board.connect({ key, source, sourcePort: 1, failed: new Set() });
          assert.equal(got.type, want.type);
          if (want.type !== 'forward' || got.type !== 'forward') continue;
          assert.deepEqual(got.target, want.target);
          const { address, port } = want.target;
          pins.set(`${key} ${source}`, { address, port, untilMs: nowMs + want.pinSeconds * 1000 });
        }
      }
    }),
    { numRuns: 300 },
  );
});

describe('after failures', () => {
  const vip = '10.96.0.1';
  const boardWith = (routes: readonly Route[], now = (): number => 0): Switchboard => {
    const board = new Switchboard({ ...none, now });
    board.change({ isAll: true, removed: [], added: routes, network });
    return board;
  };
  const key = routeKey(route(vip, { type: 'reject' }));

  test('others are tried, each once, and at the end it is refused', () => {
    const board = boardWith([route(vip, forward(target(a), target(b), target(c)))]);
    const call = { key, source: '10.1.0.9', sourcePort: 1, failed: new Set<string>() };
    const tried: string[] = [];
    for (;;) {
      const connection = board.connect(call);
      if (connection.type !== 'forward') break;
      assert.equal(connection.isLast, tried.length === 2);
      tried.push(connection.target.address);
      board.failed(call, connection.target);
    }
    assert.deepEqual(tried.toSorted(), [a.address, b.address, c.address]);
  });

  test('each that is tried has more time than the one before, and the last that can be has most', () => {
    assert.deepEqual(
      [0, 1, 2, 3].map((failures) => dialTimeoutMs(failures, failures === 3)),
      [250, 500, 1000, 5000],
    );
    assert.equal(dialTimeoutMs(0, true), 5000, 'there is only one');
  });

  test('one that failed is passed over for a second, unless there is nobody else', () => {
    let nowMs = 0;
    const board = boardWith([route(vip, forward(target(a), target(b)))], () => nowMs);
    const connect = (): string => {
      const connection = board.connect({ key, source: '10.1.0.9', sourcePort: 1, failed: new Set() });
      return connection.type === 'forward' ? connection.target.address : connection.type;
    };
    assert.equal(connect(), a.address);
    board.failed({ key, source: '10.1.0.9', sourcePort: 1, failed: new Set() }, target(a));
    assert.equal(connect(), b.address);
    board.failed({ key, source: '10.1.0.9', sourcePort: 1, failed: new Set() }, target(b));
    assert.equal(connect(), a.address);
    nowMs = 1001;
    assert.equal(connect(), a.address);
  });

  test('a client is remembered at the target that answered', () => {
    const board = boardWith([route(vip, forward(target(a, 60), target(b, 60)))]);
    const call = { key, source: '10.1.0.9', sourcePort: 1, failed: new Set<string>() };
    const first = board.connect(call);
    assert.ok(first.type === 'forward');
    board.failed(call, first.target);
    const second = board.connect(call);
    assert.ok(second.type === 'forward');
    const later = board.connect({ ...call, failed: new Set() });
    assert.ok(later.type === 'forward');
    assert.equal(later.target.address, second.target.address);
  });
});

test('what is remembered is bounded, and the client away longest is forgotten', () => {
  const pins = new Pins({ most: 3, now: () => 0 });
  for (const client of ['1', '2', '3']) pins.set('r', client, target(a, 60));
  pins.set('r', '1', target(b, 60));
  pins.set('r', '4', target(a, 60));
  assert.equal(pins.size, 3);
  assert.equal(pins.get('r', '2'), undefined);
  assert.equal(pins.get('r', '1')?.address, b.address);
});
