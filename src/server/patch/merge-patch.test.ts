import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import { isStatusError } from '../../api/errors.ts';
import type { JsonObject } from './json-value.ts';
import { applyMergePatch } from './merge-patch.ts';

// The examples of RFC 7386, appendix A, as fields of one object.
describe('merge patch', () => {
  const cases: { document: JsonObject; patch: JsonObject; want: unknown }[] = [
    { document: { a: 'b' }, patch: { a: 'c' }, want: { a: 'c' } },
    { document: { a: 'b' }, patch: { b: 'c' }, want: { a: 'b', b: 'c' } },
    { document: { a: 'b' }, patch: { a: null }, want: {} },
    { document: { a: 'b', b: 'c' }, patch: { a: null }, want: { b: 'c' } },
    { document: { a: ['b'] }, patch: { a: 'c' }, want: { a: 'c' } },
    { document: { a: 'c' }, patch: { a: ['b'] }, want: { a: ['b'] } },
    { document: { a: { b: 'c' } }, patch: { a: { b: 'd', c: null } }, want: { a: { b: 'd' } } },
    { document: { a: [{ b: 'c' }] }, patch: { a: [1] }, want: { a: [1] } },
    { document: { e: null }, patch: { a: 1 }, want: { e: null, a: 1 } },
    { document: {}, patch: { a: { bb: { ccc: null } } }, want: { a: { bb: {} } } },
    { document: {}, patch: { a: [null, { b: null }] }, want: { a: [null, { b: null }] } },
    { document: {}, patch: JSON.parse('{"__proto__":{"x":1}}'), want: JSON.parse('{"__proto__":{"x":1}}') },
  ];
  for (const { document, patch, want } of cases) {
    test(`${JSON.stringify(document)} + ${JSON.stringify(patch)}`, () => {
      const before = structuredClone(document);
      assert.deepEqual(applyMergePatch(document, patch), want);
      assert.deepEqual(document, before);
    });
  }

  for (const body of [null, [], 'x', 1]) {
    test(`must be an object: ${JSON.stringify(body)}`, () => {
      assert.throws(
        () => applyMergePatch({}, body),
        (error) => isStatusError(error) && error.status.code === 400,
      );
    });
  }

  test('is idempotent', () => {
    const json = fc.dictionary(fc.string({ maxLength: 2 }), fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true });
    fc.assert(
      fc.property(json, json, (document, patch) => {
        const once = applyMergePatch(document, patch);
        assert.deepEqual(applyMergePatch(once, patch), once);
      }),
    );
  });
});
