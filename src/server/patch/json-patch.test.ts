import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';
import { applyPatch, createPatch } from 'rfc6902';

import { isStatusError } from '../../api/errors.ts';
import { runToEnd } from '../limits/time-slicer.ts';
import { applyJsonPatch } from './json-patch.ts';
import type { JsonObject } from './json-value.ts';

const patched = (document: JsonObject, patch: unknown): unknown => runToEnd(applyJsonPatch(document, patch));

describe('operations', () => {
  const list = { a: [1, 2, 3], b: { c: 'x' } };
  const cases: { name: string; document?: JsonObject; patch: unknown[]; want: unknown }[] = [
    { name: 'add a member', patch: [{ op: 'add', path: '/d', value: 1 }], want: { ...list, d: 1 } },
    { name: 'add over a member', patch: [{ op: 'add', path: '/b', value: null }], want: { ...list, b: null } },
    { name: 'insert', patch: [{ op: 'add', path: '/a/1', value: 9 }], want: { ...list, a: [1, 9, 2, 3] } },
    { name: 'append', patch: [{ op: 'add', path: '/a/-', value: 9 }], want: { ...list, a: [1, 2, 3, 9] } },
    { name: 'add at the end', patch: [{ op: 'add', path: '/a/3', value: 9 }], want: { ...list, a: [1, 2, 3, 9] } },
    { name: 'replace everything', patch: [{ op: 'replace', path: '', value: { n: 1 } }], want: { n: 1 } },
    // Kubernetes is more lenient than RFC 6902 here.
    { name: 'replace a missing member', patch: [{ op: 'replace', path: '/d', value: 1 }], want: { ...list, d: 1 } },
    { name: 'add no value', patch: [{ op: 'add', path: '/d' }], want: { ...list, d: null } },
    { name: 'copy a missing member', patch: [{ op: 'copy', from: '/x', path: '/d' }], want: { ...list, d: null } },
    { name: 'test that a member is missing', patch: [{ op: 'test', path: '/b/d', value: null }], want: list },
    {
      name: 'count from the end',
      patch: [{ op: 'replace', path: '/a/-1', value: 9 }],
      want: { ...list, a: [1, 2, 9] },
    },
    { name: 'add before the end', patch: [{ op: 'add', path: '/a/-2', value: 9 }], want: { ...list, a: [1, 2, 9, 3] } },
    {
      name: 'write an index with a zero',
      patch: [{ op: 'add', path: '/a/03', value: 9 }],
      want: { ...list, a: [1, 2, 3, 9] },
    },
    { name: 'omit the first slash', patch: [{ op: 'add', path: 'x/d', value: 1 }], want: { ...list, d: 1 } },
    {
      name: 'remove',
      patch: [
        { op: 'remove', path: '/a/0' },
        { op: 'remove', path: '/b/c' },
      ],
      want: { a: [2, 3], b: {} },
    },
    { name: 'replace', patch: [{ op: 'replace', path: '/b/c', value: ['y'] }], want: { ...list, b: { c: ['y'] } } },
    { name: 'move', patch: [{ op: 'move', from: '/b/c', path: '/a/0' }], want: { a: ['x', 1, 2, 3], b: {} } },
    { name: 'move to itself', patch: [{ op: 'move', from: '/b', path: '/b' }], want: list },
    {
      name: 'copy, not share',
      patch: [
        { op: 'copy', from: '/b', path: '/d' },
        { op: 'add', path: '/d/c', value: 'y' },
      ],
      want: { ...list, d: { c: 'y' } },
    },
    {
      name: 'test',
      patch: [
        { op: 'test', path: '/a', value: [1, 2, 3] },
        { op: 'test', path: '', value: list },
      ],
      want: list,
    },
    {
      name: 'unescape',
      document: { 'a/b': 1, 'm~n': 2 },
      patch: [
        { op: 'remove', path: '/a~1b' },
        { op: 'replace', path: '/m~0n', value: 3 },
      ],
      want: { 'm~n': 3 },
    },
    {
      name: 'keep keys that objects inherit',
      document: { data: {} },
      patch: [
        { op: 'add', path: '/data/__proto__', value: 'x' },
        { op: 'add', path: '/data/constructor', value: 'y' },
      ],
      want: JSON.parse('{"data":{"__proto__":"x","constructor":"y"}}'),
    },
  ];
  for (const { name, document = list, patch, want } of cases) {
    test(name, () => {
      const [before, sent] = [structuredClone(document), structuredClone(patch)];
      assert.deepEqual(patched(document, patch), want);
      assert.deepEqual([document, patch], [before, sent], 'the input was changed');
    });
  }
});

describe('rejects a patch', () => {
  const document = { a: [1], b: { c: 'x' } };
  const rejected = {
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
  };
  const operations: unknown[] = [
    { op: 'add', path: '/x/y', value: 1 },
    { op: 'add', path: '/a/2', value: 1 },
    { op: 'add', path: '/a/-3', value: 1 },
    { op: 'add', path: '', value: {} },
    { op: 'add', path: 'd', value: 1 },
    { op: 'add', value: 1 },
    { op: 'add', path: '/__proto__/x', value: 1 },
    { op: 'add', path: '/b/c/d', value: 1 },
    { op: 'remove', path: '/x' },
    { op: 'remove', path: '/a/-' },
    { op: 'remove', path: '' },
    { op: 'replace', path: '/x/y', value: 1 },
    { op: 'replace', path: '/a/1', value: 1 },
    { op: 'move', from: '/b', path: '/b/c/d' },
    { op: 'move', from: '/x', path: '/y' },
    { op: 'copy', from: '/x/y', path: '/y' },
    { op: 'test', path: '/b/c', value: 'y' },
    { op: 'test', path: '/constructor/x', value: null },
    { op: 'merge', path: '/b', value: {} },
    {},
  ];
  for (const operation of operations) {
    test(JSON.stringify(operation), () => {
      assert.deepEqual(refusal(document, [operation]), rejected);
    });
  }

  test('that is not a list of operations', () => {
    const message = 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp';
    assert.deepEqual(refusal(document, { op: 'add' }), { code: 400, reason: 'BadRequest', message });
    assert.equal(refusal(document, [1]).code, 400);
  });

  test('with too many operations', () => {
    const operation = { op: 'test', path: '/b/c', value: 'x' };
    assert.deepEqual(patched(document, Array(10_000).fill(operation)), document);
    assert.deepEqual(refusal(document, Array(10_001).fill(operation)), {
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    });
  });

  test('that copies too much', () => {
    const doubling = Array(30).fill({ op: 'copy', from: '', path: '/a/-' });
    assert.deepEqual(refusal(document, doubling), rejected);
  });
});

function attempt(document: JsonObject, patch: unknown): unknown {
  try {
    return patched(document, patch);
  } catch (error) {
    assert.ok(isStatusError(error), String(error));
    return undefined;
  }
}

function refusal(document: JsonObject, patch: unknown): { code: unknown; reason: unknown; message: unknown } {
  try {
    patched(document, patch);
  } catch (error) {
    assert.ok(isStatusError(error), String(error));
    const { code, reason, message } = error.status;
    return { code, reason, message };
  }
  return assert.fail('nothing was rejected');
}

describe('agrees with an oracle', () => {
  const key = fc.constantFrom('a', 'b', 'c/d', 'e~f');
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(1, 'x', null, true),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const document = fc.dictionary(key, value, { noNullPrototype: true });

  test('on the patches between two documents', () => {
    fc.assert(
      fc.property(document, document, (before, after) => {
        const patch: unknown = JSON.parse(JSON.stringify(createPatch(before, after)));
        assert.deepEqual(patched(before, patch), after);
      }),
    );
  });

  test('on random operations', () => {
    const token = fc.constantFrom('a', 'b', 'c~1d', 'e~0f', '0', '1', '-');
    const pointer = fc.array(token, { minLength: 1, maxLength: 3 }).map((tokens) => `/${tokens.join('/')}`);
    const operation = fc.oneof(
      fc.record({ op: fc.constantFrom('add' as const, 'replace' as const, 'test' as const), path: pointer, value }),
      fc.record({ op: fc.constant('remove' as const), path: pointer }),
      fc.record({ op: fc.constantFrom('move' as const, 'copy' as const), from: pointer, path: pointer }),
    );
    fc.assert(
      fc.property(document, operation, (before, patch) => {
        const ours = attempt(before, [patch]);
        // The oracle and Kubernetes deviate from RFC 6902 in different cases, which the tables above test.
        fc.pre(ours !== undefined);
        const theirs = structuredClone(before);
        fc.pre(applyPatch(theirs, [structuredClone(patch)])[0] === null);
        assert.deepEqual(ours, theirs);
      }),
    );
  });
});
