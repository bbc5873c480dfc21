import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReaperPolicy, LeaseObservations } from './evaluate.ts';
import { evaluateSources, observe, restartTimers } from './evaluate.ts';

const durationMs = 15_000;
const seen = (ages: Readonly<Record<string, number>>): LeaseObservations =>
  new Map(
    Object.entries(ages).map(([source, age]) => [source, { revision: '1', observedAtMs: -age * 1000, durationMs }]),
  );

/** The sources whose slices are deleted. */
const removed = (ages: Readonly<Record<string, number>>, policy: ReaperPolicy = {}): readonly string[] =>
  evaluateSources(seen(ages), { own: 'me', ...policy }, 0)
    .filter(({ isRemoved }) => isRemoved)
    .map(({ source }) => source);

const states = (observations: LeaseObservations, now: number): Record<string, string> =>
  Object.fromEntries(evaluateSources(observations, {}, now).map(({ source, state }) => [source, state]));

describe('evaluateSources', () => {
  for (const [what, ages, policy, wanted] of [
    ['MCS-83 removes an expired source', { me: 1, east: 16 }, {}, ['east']],
    ['MCS-88 keeps healthy and suspect sources', { me: 1, east: 16, west: 1, north: 14 }, {}, ['east']],
    ['keeps the own cluster', { me: 99, east: 1 }, {}, []],
    ['removes all others when the controller is lost', { me: 99, east: 99, west: 99 }, {}, ['east', 'west']],
    [
      'keeps everything under Freeze when the controller is lost',
      { me: 99, east: 99, west: 99 },
      { onControllerLoss: 'Freeze' },
      [],
    ],
    [
      'removes sources after --freeze-for',
      { me: 99, east: 99 },
      { onControllerLoss: 'Freeze', freezeMs: 60_000 },
      ['east'],
    ],
    [
      'removes a lost source under Freeze while the controller is alive',
      { me: 1, east: 99 },
      { onControllerLoss: 'Freeze' },
      ['east'],
    ],
    [
      'waits for a second lease duration when most sources expire at once',
      { me: 1, a: 16, b: 16, c: 16, d: 1 },
      {},
      [],
    ],
    ['removes them after the second lease duration', { me: 1, a: 31, b: 31, c: 31, d: 1 }, {}, ['a', 'b', 'c']],
    [
      'counts the expiry of all sources as the loss of the controller when the own id is unknown',
      { a: 20, b: 20 },
      { own: undefined, onControllerLoss: 'Freeze' },
      [],
    ],
  ] as const) {
    test(what, () => assert.deepEqual(removed(ages, policy), wanted));
  }

  test('MCS-87 the lease duration starts when a renewal is first observed', () => {
    const lease = (revision: string) => new Map([['east', { revision, durationMs }]]);
    const first = observe(new Map(), lease('1'), 1000);
    const same = observe(first, lease('1'), 14_000);
    assert.equal(same.get('east')?.observedAtMs, 1000);
    assert.equal(evaluateSources(same, {}, 14_000)[0]?.state, 'suspect');
    assert.equal(evaluateSources(observe(same, lease('2'), 15_000), {}, 15_000)[0]?.state, 'healthy');
    assert.equal(evaluateSources(same, {}, 16_001)[0]?.state, 'expired');
  });

  test('evaluates each lease by its own duration', () => {
    const leases = (revision: string) =>
      new Map([
        ['east', { revision, durationMs: 15_000 }],
        ['west', { revision: '1', durationMs: 40_000 }],
        ['me', { revision, durationMs: 15_000 }],
      ]);
    let observations = observe(new Map(), leases('1'), 0);
    for (let second = 1; second <= 39; second++)
      observations = observe(observations, leases(`${second}`), second * 1000);
    assert.deepEqual(states(observations, 39_000), { east: 'healthy', west: 'suspect', me: 'healthy' });
    assert.deepEqual(states(observations, 54_500), { east: 'expired', west: 'expired', me: 'expired' });
  });

  for (const onControllerLoss of ['Remove', 'Freeze'] as const) {
    const policy = { own: 'me', onControllerLoss };
    const leases = (renewals: Readonly<Record<string, string>>) =>
      new Map(Object.entries(renewals).map(([source, revision]) => [source, { revision, durationMs }]));
    const goes = (observations: LeaseObservations, now: number): readonly string[] =>
      evaluateSources(observations, policy, now).flatMap(({ source, isRemoved }) => (isRemoved ? [source] : []));

    test(`${onControllerLoss}: keeps a source whose lease expires shortly before all others`, () => {
      let observations = observe(new Map(), leases({ me: '1', east: '1', west: '1' }), 0);
      observations = observe(observations, leases({ me: '2', east: '1', west: '2' }), 5000); // and the controller crashes
      assert.deepEqual(goes(observations, 15_500), []);
      assert.deepEqual(goes(observations, 20_001), onControllerLoss === 'Remove' ? ['east', 'west'] : []);
    });

    test(`${onControllerLoss}: restarts all leases when a controller renews again after it was late`, () => {
      const before = observe(new Map(), leases({ me: '1', east: '1', west: '1' }), 0);
      for (const backAt of [11_000, 14_999, 60_000]) {
        const observations = observe(before, leases({ me: '2', east: '1', west: '1' }), backAt);
        assert.deepEqual(goes(observations, backAt), []);
        const renewed = observe(observations, leases({ me: '3', east: '2', west: '1' }), backAt + 9000);
        assert.deepEqual(goes(renewed, backAt + 15_001), ['west']);
      }
    });
  }

  test('restartTimers gives every source a full lease duration', () => {
    assert.equal(evaluateSources(restartTimers(seen({ east: 99 }), 0), {}, 0)[0]?.state, 'healthy');
  });

  test('MCS-80 removes slices without a lease after one lease duration', () => {
    const none = new Map([['east', { revision: undefined, durationMs }]]);
    const observations = observe(observe(new Map(), none, 0), none, 16_000);
    assert.deepEqual(evaluateSources(observations, { own: 'me' }, 16_000), [
      { source: 'east', state: 'expired', isRemoved: true, reason: 'the controller is lost' },
    ]);
  });
});
