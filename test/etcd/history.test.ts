import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { KeyEvent, Operation } from './history.ts';
import { checkLinearizable } from './history.ts';

const events: readonly KeyEvent[] = [
  { key: 'a', revision: 1, value: 'x' },
  { key: 'a', revision: 2, value: 'y' },
  { key: 'b', revision: 3, value: 'z' },
  { key: 'a', revision: 4, value: undefined },
];
const read = (begin: number, end: number, value: string | undefined, revision = 0): Operation => ({
  begin,
  end,
  what: { type: 'get', key: 'a', value, revision },
});
const wrote = (begin: number, end: number, value: string, revision: number): Operation => ({
  begin,
  end,
  what: { type: 'write', key: 'a', value, revision },
});

suite('histories', () => {
  const good: readonly [name: string, operations: readonly Operation[]][] = [
    ['a read that overlaps a write has either value', [wrote(0, 10, 'x', 1), read(5, 6, undefined)]],
    ['reads in order', [read(0, 1, undefined), read(2, 3, 'x', 1), read(4, 5, 'y', 2), read(6, 7, undefined)]],
    ['a list', [{ begin: 0, end: 1, what: { type: 'list', values: new Map([['a', 'y']]), revision: 2 } }]],
    ['a delete', [{ begin: 0, end: 1, what: { type: 'delete', key: 'a' } }, read(2, 3, undefined)]],
  ];
  for (const [name, operations] of good) test(`accepts ${name}`, () => checkLinearizable(operations, events));

  const bad: readonly [name: string, operations: readonly Operation[]][] = [
    ['a stale read', [wrote(0, 1, 'x', 1), read(2, 3, undefined), read(4, 5, 'x', 1)]],
    ['a read that goes back', [read(0, 1, 'y', 2), read(2, 3, 'x', 1)]],
    ['a lost write', [wrote(0, 1, 'lost', 9)]],
    [
      'a stale list',
      [wrote(0, 1, 'y', 2), { begin: 2, end: 3, what: { type: 'list', values: new Map([['a', 'x']]), revision: 1 } }],
    ],
    [
      'a conflict without another write',
      [wrote(0, 1, 'x', 1), { begin: 2, end: 3, what: { type: 'exists', key: 'c' } }],
    ],
  ];
  for (const [name, operations] of bad.filter(([, { length }]) => length > 0)) {
    test(`finds ${name}`, () => {
      assert.throws(() => checkLinearizable(operations, events), /not linearizable/);
    });
  }
});
