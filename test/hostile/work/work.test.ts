// For each way in which decoding, patches and apply handle a field: the work of every verb grows less than
// 16-fold when the field is eight times as long. `npm run test:hostile` does the same for all fields of all kinds.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { namespaceKind } from '../../../src/api/kinds/core/namespace/kind.ts';
import { podKind } from '../../../src/api/kinds/core/pod/kind.ts';
import { kinds } from '../../../src/api/kinds/registry.ts';
import { WorkCounter } from './counter.ts';
import type { LongField } from './fields.ts';
import { isWritten, longFields } from './fields.ts';
import { growthProblems } from './growth.ts';

/** Prefers fields outside lists, and kinds that can be updated. */
const depth = ({ kind, path }: LongField): number =>
  path.length + 10 * path.filter((step) => step === 0).length + (kind === podKind || kind === namespaceKind ? 5 : 0);

/** treatment → the tested field */
const oneOfEach = new Map<string, LongField>();
for (const field of kinds.filter(isWritten).flatMap(longFields)) {
  const known = oneOfEach.get(field.treatment);
  if (known === undefined || depth(field) < depth(known)) oneOfEach.set(field.treatment, field);
}

suite('the work of a write is linear in', () => {
  const counter = new WorkCounter();
  for (const [treatment, field] of oneOfEach) {
    test(`a ${treatment}: ${field.kind.kind} ${field.path.join('.')}`, async () => {
      assert.deepEqual(await growthProblems(field, counter), []);
    });
  }
});

suite('the counter counts', () => {
  const counter = new WorkCounter();
  const list = Array.from({ length: 1000 }, (_, index) => `${index}`);

  test('detects a search within a search', async () => {
    const { builtins } = await counter.count(async () => list.filter((item) => list.includes(item)));
    assert.ok(builtins >= 1_000_000, `${builtins}`);
  });

  test('detects a copy per item', async () => {
    let object: Record<string, string> = {};
    const { bytes } = await counter.count(async () => {
      for (const item of list) object = { ...object, [`key-${item}`]: item };
    });
    assert.ok(bytes >= 4_000_000, `${bytes}`);
  });
});
