import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReaperPolicy, Sightings } from './judge.ts';
import { judge, look, withFullTime } from './judge.ts';

const durationMs = 15_000;
const seen = (ages: Readonly<Record<string, number>>): Sightings =>
  new Map(Object.entries(ages).map(([source, age]) => [source, { renewal: '1', atMs: -age * 1000, durationMs }]));

/** Sources whose slices go. */
const removed = (ages: Readonly<Record<string, number>>, policy: ReaperPolicy = {}): readonly string[] =>
  judge(seen(ages), { own: 'me', ...policy }, 0)
    .filter(({ isRemoved }) => isRemoved)
    .map(({ source }) => source);

const states = (sightings: Sightings, now: number): Record<string, string> =>
  Object.fromEntries(judge(sightings, {}, now).map(({ source, state }) => [source, state]));

describe('the reaper judges', () => {
  for (const [what, ages, policy, wanted] of [
    ['MCS-83 what expired goes', { me: 1, east: 16 }, {}, ['east']],
    ['MCS-88 what is healthy or late stays', { me: 1, east: 16, west: 1, north: 14 }, {}, ['east']],
    ['the own cluster stays whatever happens', { me: 99, east: 1 }, {}, []],
    ['the loss of the controller removes all others', { me: 99, east: 99, west: 99 }, {}, ['east', 'west']],
    ['unless all is frozen', { me: 99, east: 99, west: 99 }, { onControllerLoss: 'Freeze' }, []],
    [
      'which lasts as long as it is to',
      { me: 99, east: 99 },
      { onControllerLoss: 'Freeze', freezeMs: 60_000 },
      ['east'],
    ],
    ['a lost source goes while the controller is there', { me: 1, east: 99 }, { onControllerLoss: 'Freeze' }, ['east']],
    ['most at once are waited for as long again', { me: 1, a: 16, b: 16, c: 16, d: 1 }, {}, []],
    ['and then go', { me: 1, a: 31, b: 31, c: 31, d: 1 }, {}, ['a', 'b', 'c']],
    [
      'without an own id all together are the controller',
      { a: 20, b: 20 },
      { own: undefined, onControllerLoss: 'Freeze' },
      [],
    ],
  ] as const) {
    test(what, () => assert.deepEqual(removed(ages, policy), wanted));
  }

  test('MCS-87 a source has its full time from when its renewal was first seen', () => {
    const lease = (renewal: string) => new Map([['east', { renewal, durationMs }]]);
    const first = look(new Map(), lease('1'), 1000);
    const same = look(first, lease('1'), 14_000);
    assert.equal(same.get('east')?.atMs, 1000);
    assert.equal(judge(same, {}, 14_000)[0]?.state, 'suspect');
    assert.equal(judge(look(same, lease('2'), 15_000), {}, 15_000)[0]?.state, 'healthy');
    assert.equal(judge(same, {}, 16_001)[0]?.state, 'expired');
  });

  test('each lease is judged by the duration that it says, as where controllers of two versions renew them', () => {
    const leases = (renewal: string) =>
      new Map([
        ['east', { renewal, durationMs: 15_000 }],
        ['west', { renewal: '1', durationMs: 40_000 }],
        ['me', { renewal, durationMs: 15_000 }],
      ]);
    let sightings = look(new Map(), leases('1'), 0);
    for (let second = 1; second <= 39; second++) sightings = look(sightings, leases(`${second}`), second * 1000);
    assert.deepEqual(states(sightings, 39_000), { east: 'healthy', west: 'suspect', me: 'healthy' });
    assert.deepEqual(states(sightings, 54_500), { east: 'expired', west: 'expired', me: 'expired' });
  });

  for (const onControllerLoss of ['Remove', 'Freeze'] as const) {
    const policy = { own: 'me', onControllerLoss };
    const leases = (renewals: Readonly<Record<string, string>>) =>
      new Map(Object.entries(renewals).map(([source, renewal]) => [source, { renewal, durationMs }]));
    const goes = (sightings: Sightings, now: number): readonly string[] =>
      judge(sightings, policy, now).flatMap(({ source, isRemoved }) => (isRemoved ? [source] : []));

    test(`${onControllerLoss}: a source whose lease runs out shortly before all others is not taken for lost alone`, () => {
      let sightings = look(new Map(), leases({ me: '1', east: '1', west: '1' }), 0);
      sightings = look(sightings, leases({ me: '2', east: '1', west: '2' }), 5000); // and the controller crashes
      assert.deepEqual(goes(sightings, 15_500), []);
      assert.deepEqual(goes(sightings, 20_001), onControllerLoss === 'Remove' ? ['east', 'west'] : []);
    });

    test(`${onControllerLoss}: a controller that renews again after it was late gives every source its full time`, () => {
      const before = look(new Map(), leases({ me: '1', east: '1', west: '1' }), 0);
      for (const backAt of [11_000, 14_999, 60_000]) {
        const sightings = look(before, leases({ me: '2', east: '1', west: '1' }), backAt);
        assert.deepEqual(goes(sightings, backAt), []);
        const renewed = look(sightings, leases({ me: '3', east: '2', west: '1' }), backAt + 9000);
        assert.deepEqual(goes(renewed, backAt + 15_001), ['west']);
      }
    });
  }

  test('after it could not see for a while every source has its full time again', () => {
    assert.equal(judge(withFullTime(seen({ east: 99 }), 0), {}, 0)[0]?.state, 'healthy');
  });

  test('MCS-80 slices without a lease are given the time of one', () => {
    const none = new Map([['east', { renewal: undefined, durationMs }]]);
    const sightings = look(look(new Map(), none, 0), none, 16_000);
    assert.deepEqual(judge(sightings, { own: 'me' }, 16_000), [
      { source: 'east', state: 'expired', isRemoved: true, why: 'the controller is lost' },
    ]);
  });
});
