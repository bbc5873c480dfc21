import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import type { Target } from '../routes/route.ts';
import { arrange } from './slots.ts';

const target = (name: string): Target => ({ address: name, port: 80, weight: 1, stickySeconds: 0, isLocal: false });
const letters = (text: string): readonly string[] => text.split('');
const arranged = (targets: string, old: string): string =>
  arrange(letters(targets).map(target), letters(old).map(target))
    .map(({ address }) => address)
    .join('');

const cases = [
  { name: 'a new target comes last', targets: 'abcd', old: 'abc', want: 'abcd' },
  { name: 'the last target moves into the hole', targets: 'acd', old: 'abcd', want: 'adc' },
  { name: 'a new target takes the hole', targets: 'acx', old: 'abc', want: 'axc' },
  { name: 'weights are numbers of slots', targets: 'aabb', old: 'ab', want: 'abba' },
  { name: 'all targets removed', targets: '', old: 'ab', want: '' },
];

for (const { name, targets, old, want } of cases) test(name, () => assert.equal(arranged(targets, old), want));

test('assigns slots to all targets, and keeps existing ones', () => {
  const some = fc.array(fc.constantFrom(...letters('abcdefgh')), { maxLength: 12 }).map((all) => all.join(''));
  fc.assert(
    fc.property(some, some, (targets, old) => {
      const slots = arranged(targets, old);
      assert.deepEqual(letters(slots).toSorted(), letters(targets).toSorted());
      assert.equal(arranged(targets, slots), slots, 'nothing moves when nothing changes');
    }),
  );
});
