import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReaperPolicy, Sightings } from './judge.ts';
import { afterBlindness, judge, look } from './judge.ts';

const durationMs = 15_000;
const seen = (ages: Readonly<Record<string, number>>): Sightings =>
  new Map(Object.entries(ages).map(([source, age]) => [source, { renewal: '1', atMs: -age * 1000, durationMs }]));

/** Sources whose slices go. */
const removed = (ages: Readonly<Record<string, number>>, policy: ReaperPolicy = {}): readonly string[] =>
  judge(seen(ages), { own: 'me', ...policy }, 0)
    .filter(({ isRemoved }) => isRemoved)
    .map(({ source }) => source);

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

  test('after it could not see for a while every source has its full time again', () => {
    assert.equal(judge(afterBlindness(seen({ east: 99 }), 0), {}, 0)[0]?.state, 'healthy');
  });

  test('MCS-80 slices without a lease are given the time of one', () => {
    const none = new Map([['east', { renewal: undefined, durationMs }]]);
    const sightings = look(look(new Map(), none, 0), none, 16_000);
    assert.deepEqual(judge(sightings, { own: 'me' }, 16_000), [
      { source: 'east', state: 'expired', isRemoved: true, why: 'the source is lost' },
    ]);
  });
});
