import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseBoolean } from './boolean.ts';
import { parseGoDuration } from './duration.ts';
import { readElection } from './leader-flags.ts';

const read = (given: Readonly<Record<string, string>>): ReturnType<typeof readElection> =>
  readElection(new Map(Object.entries(given).map(([name, value]) => [`leader-elect${name}`, [value]])), 'lease');

describe('leader election', () => {
  test('is on, with the times of kube-controller-manager', () => {
    assert.deepEqual(read({}), {
      namespace: 'kube-system',
      name: 'lease',
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2000,
    });
    assert.equal(read({ '': 'false' }), undefined);
    assert.equal(read({ '': 'true', '-resource-name': 'mine' })?.name, 'mine');
  });

  const errors: readonly { given: Readonly<Record<string, string>>; want: RegExp }[] = [
    { given: { '': 'maybe' }, want: /"--leader-elect" flag: strconv.ParseBool: parsing "maybe": invalid syntax$/ },
    { given: { '-lease-duration': '15' }, want: /-lease-duration" flag: time: invalid duration "15"$/ },
    { given: { '-lease-duration': '10s' }, want: /^--leader-elect-lease-duration must be longer than --leader/ },
    { given: { '-lease-duration': '15500ms' }, want: /^--leader-elect-lease-duration must be whole seconds$/ },
    { given: { '-retry-period': '9s' }, want: /^--leader-elect-renew-deadline must be longer than 1\.2 times/ },
    { given: { '-retry-period': '0s' }, want: /^--leader-elect-retry-period must be more than nothing$/ },
    { given: { '-resource-name': '' }, want: /flag: expected a name$/ },
  ];
  for (const { given, want } of errors) {
    test(`refuses ${JSON.stringify(given)}`, () => assert.throws(() => read(given), { message: want, code: 'USAGE' }));
  }
});

const durations: readonly (readonly [string, number])[] = [
  ['15s', 15_000],
  ['1m30s', 90_000],
  ['1.5s', 1500],
  ['250ms', 250],
  ['1h', 3_600_000],
];
for (const [text, want] of durations) test(`${text} is ${want} ms`, () => assert.equal(parseGoDuration(text), want));
for (const text of ['', 's', '1', '-1s', '1 s', '1d']) {
  test(`"${text}" is no duration`, () =>
    assert.throws(() => parseGoDuration(text), { message: `time: invalid duration "${text}"` }));
}

test('true and false are what Go takes for them', () => {
  assert.deepEqual(['true', '1', 'T', 'false', '0', 'F'].map(parseBoolean), [true, true, true, false, false, false]);
  assert.throws(() => parseBoolean('yes'));
});
