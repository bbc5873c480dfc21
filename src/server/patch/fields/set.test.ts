import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import { sortElements } from './element.ts';
import { ordered, parseFields, printPaths } from './fields-v1.ts';
import type { FieldSet } from './set.ts';
import { asMember, difference, emptySet, fieldSetOf, intersection, isEmptySet, union, without } from './set.ts';

const element = fc.constantFrom(
  'f:a',
  'f:b',
  'f:my-key',
  'k:{"port":80,"protocol":"TCP"}',
  'k:{"port":443,"protocol":"TCP"}',
  'v:"x"',
  'v:3',
  'i:0',
);
const path = fc.array(element, { minLength: 1, maxLength: 4 });
const paths = fc.array(path, { maxLength: 8 });
const setOf = (members: readonly (readonly string[])[]): FieldSet =>
  members
    .map((elements) => elements.reduceRight<FieldSet>((below, name) => ({ [name]: below }), emptySet))
    .reduce(union, emptySet);
const anySet = paths.map(setOf);
const equal = (actual: FieldSet, expected: FieldSet): void => assert.deepEqual(ordered(actual), ordered(expected));

describe('sets of fields', () => {
  const onMembers = (set: FieldSet): Set<string> => new Set(printPaths(set));

  test('behave like sets of their members', () => {
    fc.assert(
      fc.property(anySet, anySet, (left, right) => {
        const [a, b] = [onMembers(left), onMembers(right)];
        assert.deepEqual(onMembers(union(left, right)), new Set([...a, ...b]));
        assert.deepEqual(onMembers(intersection(left, right)), a.intersection(b));
        assert.deepEqual(onMembers(difference(left, right)), a.difference(b));
      }),
    );
  });

  test('satisfy the laws of sets', () => {
    fc.assert(
      fc.property(anySet, anySet, anySet, (a, b, c) => {
        equal(union(a, b), union(b, a));
        equal(union(union(a, b), c), union(a, union(b, c)));
        equal(intersection(a, union(b, c)), union(intersection(a, b), intersection(a, c)));
        equal(difference(a, union(b, c)), difference(difference(a, b), c));
        equal(union(difference(a, b), intersection(a, b)), a);
        assert.ok(isEmptySet(difference(a, a)));
      }),
    );
  });

  test('share unchanged parts', () => {
    fc.assert(
      fc.property(anySet, anySet, (left, right) => {
        const rest = difference(left, right);
        assert.equal(difference(rest, right), rest);
        const once = ordered(left);
        assert.equal(ordered(once), once);
      }),
    );
  });

  test('exclude whole branches', () => {
    const set = fieldSetOf(['spec', 'type'], ['status', 'loadBalancer', 'ingress'], ['metadata', 'labels', 'a']);
    assert.deepEqual(without(set, fieldSetOf(['status'], ['metadata', 'labels'])), fieldSetOf(['spec', 'type']));
    const labels = { 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } } };
    assert.deepEqual(without(labels, fieldSetOf(['metadata', 'labels', 'a'])), { 'f:metadata': { 'f:labels': {} } });
  });
});

describe('fieldsV1', () => {
  test('round-trips', () => {
    fc.assert(
      fc.property(anySet, (set) => {
        const written: unknown = JSON.parse(JSON.stringify(ordered(set)));
        assert.equal(JSON.stringify(parseFields(written)), JSON.stringify(written));
      }),
    );
  });

  test('sorts names, then keys and values by value, then indices', () => {
    const elements = ['i:10', 'i:9', 'v:"a"', 'v:10', 'v:9', 'k:{"port":443}', 'k:{"port":80}', 'f:b', 'f:a', 'f:B'];
    assert.deepEqual(sortElements(elements), [
      'f:B',
      'f:a',
      'f:b',
      'k:{"port":80}',
      'k:{"port":443}',
      'v:9',
      'v:10',
      'v:"a"',
      'i:9',
      'i:10',
    ]);
    assert.equal(
      JSON.stringify(ordered({ 'v:"x"': {}, 'f:b': { 'f:c': {}, '.': {} }, 'f:a': {} })),
      '{"f:a":{},"f:b":{".":{},"f:c":{}},"v:\\"x\\"":{}}',
    );
  });

  test('normalizes other spellings', () => {
    const sent = { 'k:{"protocol":"TCP", "port":80}': { 'f:port': {} }, 'x:new': {}, 'f:a': { '.': {} } };
    assert.deepEqual(parseFields(sent), { 'f:a': {}, 'k:{"port":80,"protocol":"TCP"}': { 'f:port': {} } });
  });

  for (const bad of [
    null,
    [],
    'text',
    { f: {} },
    { name: {} },
    { 'k:{': {} },
    { 'f:a': 1 },
    { 'i:x': {} },
    { 'k:1': {} },
  ]) {
    test(`rejects ${JSON.stringify(bad)}`, () => {
      assert.equal(parseFields(bad), undefined);
    });
  }

  test('prints paths, each level before those below it', () => {
    const ports = { 'k:{"port":80,"protocol":"TCP"}': asMember({ 'f:targetPort': {} }) };
    const set = {
      'f:spec': { 'f:ports': ports, 'f:type': {} },
      'f:metadata': { 'f:finalizers': { 'v:"a/b"': {} } },
      'f:data': {},
    };
    assert.deepEqual(printPaths(set), [
      '.data',
      '.metadata.finalizers[="a/b"]',
      '.spec.type',
      '.spec.ports[port=80,protocol="TCP"]',
      '.spec.ports[port=80,protocol="TCP"].targetPort',
    ]);
  });
});
