import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Write } from '../store.ts';
import type { Queued } from './batch.ts';
import { takeBatch } from './batch.ts';

const write = (key: string): Write => ({ key, value: '' });
const check = (key: string): Write => ({ key, value: undefined, expect: 1, isCheck: true });
const queued = (...writes: readonly Write[]): Queued => ({ writes, leases: new Map(), bytes: 100 });

const cases: readonly (readonly [name: string, queue: readonly Queued[], batch: readonly number[]])[] = [
  ['commits without a common key', [queued(write('a')), queued(write('b'))], [0, 1]],
  ['one of two commits that write one key', [queued(write('a')), queued(write('a')), queued(write('b'))], [0, 2]],
  ['commits that check one key', [queued(write('a'), check('n')), queued(write('b'), check('n'))], [0, 1]],
  ['no commit that checks what another writes', [queued(write('n')), queued(write('b'), check('n'))], [0]],
  ['no commit that writes what another checks', [queued(write('b'), check('n')), queued(write('n'))], [0]],
  [
    'no commit that would overtake one that waits',
    [queued(write('a')), queued(write('a'), write('b')), queued(write('b')), queued(write('c'), check('b'))],
    [0],
  ],
  ['at most 60 commits', Array.from({ length: 70 }, (_, index) => queued(write(`${index}`))), [...Array(60).keys()]],
  [
    'what etcd accepts in one request',
    [0, 1].map((index) => ({ ...queued(write(`${index}`)), bytes: 1_000_000 })),
    [0],
  ],
];
for (const [name, queue, expected] of cases) {
  test(`a batch has ${name}`, () => {
    const left = [...queue];
    const batch = takeBatch(left);
    assert.deepEqual(
      batch,
      expected.map((index) => queue[index]),
    );
    assert.equal(batch.length + left.length, queue.length);
  });
}
