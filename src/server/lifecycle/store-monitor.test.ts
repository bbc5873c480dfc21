import assert from 'node:assert/strict';
import { test } from 'node:test';

import { changesOf } from './store-monitor.ts';

const well = { failure: undefined, quotaReached: undefined };
const failed = { ...well, failure: { message: 'the disk is full', isFatal: false } };
const other = { ...well, failure: { message: 'I/O error', isFatal: true } };
const full = { ...well, quotaReached: 'store' } as const;
const etcdFull = { ...well, quotaReached: 'etcd' } as const;

const table = [
  { name: 'nothing without a change', before: full, now: full, want: [] },
  { name: 'a failure only once', before: failed, now: failed, want: [] },
  {
    name: 'a failure',
    before: well,
    now: failed,
    want: ['error the store cannot be written, reads continue: the disk is full'],
  },
  {
    name: 'another failure',
    before: failed,
    now: other,
    want: ['error the store cannot be written, reads continue: I/O error'],
  },
  { name: 'its end', before: other, now: well, want: ['warn the store can be written again'] },
  {
    name: 'the quota',
    before: well,
    now: full,
    want: [
      'error alarm NOSPACE: the store has reached its quota and accepts only reads and deletions: ' +
        'delete objects or raise --quota-backend-bytes',
    ],
  },
  {
    name: 'the quota of etcd',
    before: well,
    now: etcdFull,
    want: [
      'error alarm NOSPACE: etcd has reached its quota and accepts only reads and deletions: ' +
        'delete objects, compact and defragment etcd, and disarm the alarm',
    ],
  },
  { name: 'its end', before: full, now: well, want: ['warn alarm NOSPACE is over: the store accepts all writes'] },
];
for (const { name, before, now, want } of table) {
  test(`logs ${name}: ${want.length} lines`, () => {
    assert.deepEqual(
      changesOf(before, now).map(
        ({ level, message, reason }) => `${level} ${[message, reason].filter(Boolean).join(': ')}`,
      ),
      want,
    );
  });
}
