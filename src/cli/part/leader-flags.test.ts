import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readElection } from './leader-flags.ts';

const read = (given: Readonly<Record<string, string>>): ReturnType<typeof readElection> =>
  readElection(new Map(Object.entries(given).map(([name, value]) => [`leader-elect${name}`, [value]])), 'lease');

describe('leader election', () => {
  test('is on, with the defaults of kube-controller-manager', () => {
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
    { given: { '-lease-duration': '15' }, want: /-lease-duration" flag: time: invalid duration "15": expected/ },
    { given: { '-lease-duration': '10s' }, want: /^--leader-elect-lease-duration must be longer than --leader/ },
    { given: { '-lease-duration': '15500ms' }, want: /^--leader-elect-lease-duration must be whole seconds$/ },
    { given: { '-retry-period': '9s' }, want: /^--leader-elect-renew-deadline must be longer than 1\.2 times/ },
    { given: { '-retry-period': '0s' }, want: /^--leader-elect-retry-period must be greater than zero$/ },
    { given: { '-resource-name': '' }, want: /flag: expected a name$/ },
  ];
  for (const { given, want } of errors) {
    test(`rejects ${JSON.stringify(given)}`, () => assert.throws(() => read(given), { message: want, code: 'USAGE' }));
  }
});
