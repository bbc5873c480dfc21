import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { readAudit, readLimits } from './limit-flags.ts';

const settings = (given: Readonly<Record<string, string>>): ReadonlyMap<string, readonly string[]> =>
  new Map(Object.entries(given).map(([name, value]) => [name, [value]]));

test('limits without flags have the defaults of the server', () => {
  assert.deepEqual(readLimits(settings({})), {});
  assert.deepEqual(readLimits(settings({ 'max-watches': '5', 'max-connections-per-address': '7' })), {
    maxWatches: 5,
    maxConnectionsPerAddress: 7,
  });
});

test('writes no audit log without a path', () => {
  assert.equal(readAudit(settings({})), undefined);
  assert.equal(readAudit(settings({ 'audit-log-level': 'Request' })), undefined);
  assert.deepEqual(readAudit(settings({ 'audit-log-path': 'audit.log' })), {
    path: 'audit.log',
    level: 'Metadata',
    maxBytes: 100 * 1024 * 1024,
    maxBackups: 10,
    maxAgeDays: 0,
  });
  const given = { path: 'a', level: 'Request', maxsize: '1', maxbackup: '0', maxage: '7' };
  const flags = Object.fromEntries(Object.entries(given).map(([name, value]) => [`audit-log-${name}`, value]));
  assert.deepEqual(readAudit(settings(flags)), {
    path: 'a',
    level: 'Request',
    maxBytes: 1024 * 1024,
    maxBackups: 0,
    maxAgeDays: 7,
  });
});

suite('rejected values', () => {
  const table: readonly [flag: string, value: string, want: RegExp][] = [
    [
      'max-requests-inflight',
      '0',
      /invalid argument "0" for "--max-requests-inflight" flag: expected a whole number, 1/,
    ],
    ['max-mutating-requests-inflight', '-1', /expected a whole number, 1 or more/],
    ['max-watches', 'many', /expected a whole number, 1 or more/],
    ['max-watches-per-user', '1.5', /expected a whole number, 1 or more/],
    ['max-connections-per-address', '0', /expected a whole number, 1 or more/],
  ];
  for (const [flag, value, want] of table) {
    test(`--${flag} ${value}`, () => assert.throws(() => readLimits(settings({ [flag]: value })), want));
  }
  const audit: readonly [flag: string, value: string, want: RegExp][] = [
    ['audit-log-path', '', /expected a path/],
    ['audit-log-level', 'RequestResponse', /expected Metadata or Request/],
    ['audit-log-maxsize', '0', /expected a whole number, 1 or more/],
    ['audit-log-maxbackup', 'x', /expected a whole number, 0 or more/],
  ];
  for (const [flag, value, want] of audit) {
    test(`--${flag} ${value}`, () => assert.throws(() => readAudit(settings({ [flag]: value })), want));
  }
});
