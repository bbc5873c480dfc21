import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';

import type { Health } from './choose.ts';
import {
  answered,
  withQuery,
  dueExploration,
  dueProbes,
  failed,
  hedgeAfterMs,
  isDown,
  late,
  rank,
  refused,
  repeatAfterMs,
  unknownHealth,
} from './choose.ts';

const random = (): number => 1;

/** `20` an answer after 20 ms, `x` none, `r20` SERVFAIL after 20 ms, `late`; at intervals of 100 ms. */
function history(script: string): Health {
  let health = unknownHealth;
  let now = 0;
  for (const word of script.split(' ').filter((each) => each !== '')) {
    const askedAt = now;
    health = withQuery(health, now);
    now += 100;
    if (word === 'x') health = failed(health, askedAt, { now, random });
    else if (word === 'late') health = late(health);
    else if (word.startsWith('r')) health = refused(health, Number(word.slice(1)), now);
    else health = answered(health, Number(word), now);
  }
  return health;
}

suite('rank', () => {
  const table: readonly { name: string; given: readonly string[]; want: readonly number[]; turn?: number }[] = [
    { name: 'prefers the first configured without data', given: ['', '', ''], want: [0, 1, 2] },
    { name: 'rotates upstreams without data', given: ['', '', ''], turn: 4, want: [1, 2, 0] },
    { name: 'prefers the faster upstream', given: ['80 80 80', '10 10 10'], want: [1, 0] },
    { name: 'rotates upstreams of similar speed', given: ['10', '11', '50'], turn: 1, want: [1, 0, 2] },
    { name: 'puts an upstream that is down last', given: ['1 1 1 x x', '90'], want: [1, 0] },
    { name: 'prefers another upstream after one lost packet', given: ['9 x', '50'], want: [1, 0] },
    { name: 'prefers a slow upstream over one that loses half', given: ['5 x 5 x 5 x', '200 200'], want: [1, 0] },
    { name: 'prefers a slow upstream over SERVFAIL', given: ['r5 r5 r5', '200 200'], want: [1, 0] },
    { name: 'prefers an upstream that is not late', given: ['20 20 late', '40'], want: [1, 0] },
    { name: 'prefers the better one if all are down', given: ['90 x x', '9 x x'], want: [1, 0] },
    { name: 'prefers an upstream again after a good answer', given: ['x x 5', '500'], want: [0, 1] },
  ];
  for (const { name, given, turn = 0, want } of table) {
    test(name, () => assert.deepEqual(rank(given.map(history), turn), want));
  }

  test('contains every upstream once', () => {
    const script = fc.array(fc.constantFrom('5', '50', 'x', 'r9', 'late'), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(script, { minLength: 1, maxLength: 8 }), fc.nat(100), (scripts, turn) => {
        const order = rank(
          scripts.map((words) => history(words.join(' '))),
          turn,
        );
        assert.deepEqual(
          order.toSorted((a, b) => a - b),
          scripts.map((_, index) => index),
        );
      }),
    );
  });
});

suite('down and up', () => {
  test('two consecutive failures mark an upstream as down', () => {
    assert.equal(isDown(history('5 x')), false);
    assert.equal(isDown(history('5 x x')), true);
    assert.equal(isDown(history('5 x 5 x')), false);
  });

  test('probes with exponential backoff up to a limit', () => {
    let health = history('x x');
    const waits: number[] = [];
    let now = 200;
    for (let probe = 0; probe < 9; probe++) {
      const { probeAt = NaN } = health;
      waits.push(probeAt - now);
      assert.deepEqual(dueProbes([health], probeAt - 1), []);
      assert.deepEqual(dueProbes([health], probeAt), [0]);
      now = probeAt;
      health = failed(health, now, { now, random });
    }
    assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  test('concurrent timeouts count once', () => {
    let health = history('x x');
    for (let each = 0; each < 100; each++) health = failed(health, 150, { now: 250, random });
    assert.equal(health.failures, 2);
  });

  test('a timeout does not count against an upstream that answers other queries', () => {
    const alive = answered(unknownHealth, 5, 500);
    const silent = [1, 2, 3].reduce((health) => failed(health, 400, { now: 1400, random }), alive);
    assert.equal(isDown(silent), false);
    assert.ok(silent.failureRate > 0);
  });
});

suite('hedging delay', () => {
  const table: readonly { name: string; given: string; want: number }[] = [
    { name: 'without data', given: '', want: 150 },
    { name: 'has a minimum for fast upstreams', given: '1 1 1', want: 10 },
    { name: 'has a maximum for slow upstreams', given: '900 900 900', want: 300 },
    { name: 'of an upstream that is down', given: '900 x x', want: 150 },
  ];
  for (const { name, given, want } of table) test(name, () => assert.equal(hedgeAfterMs(history(given)), want));

  test('is about the 95th percentile of response times', () => {
    const shapes = [
      (at: number) => 20 + 40 * at,
      (at: number) => 20 - 15 * Math.log(1 - at),
      (at: number) => (at < 0.9 ? 12 : 90),
    ];
    for (const shape of shapes) {
      let health = unknownHealth;
      let within = 0;
      let seed = 7;
      for (let each = 0; each < 20_000; each++) {
        seed = (seed * 48_271) % 2_147_483_647;
        const ms = shape(seed / 2_147_483_647);
        if (each >= 1000 && ms <= health.p95Ms) within += 1;
        health = answered(health, ms, each);
      }
      const share = within / 19_000;
      assert.ok(share > 0.88 && share < 0.99, `${share} of the answers came within the wait`);
    }
  });

  test('grows with every repetition', () => {
    const health = history('10 10 10');
    assert.deepEqual(
      [1, 2, 3, 4].map((rounds) => repeatAfterMs(health, rounds)),
      [150, 300, 600, 1200],
    );
  });
});

suite('exploration', () => {
  test('selects an upstream without recent queries that is up', () => {
    const used = { ...history('5'), askedAt: 20_000 };
    const idle = { ...history('80'), askedAt: 1_000 };
    const down = { ...history('x x'), askedAt: 1_000 };
    assert.equal(dueExploration([used, down, idle], 0, 20_000), 2);
    assert.equal(dueExploration([used, down, { ...idle, askedAt: 15_000 }], 0, 20_000), undefined);
    assert.equal(dueExploration([unknownHealth, unknownHealth], 0, 0), 1);
  });
});
