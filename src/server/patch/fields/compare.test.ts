import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import { service } from '../../../api/kinds/core/service/schema.ts';
import { objectSchema } from '../../../api/metadata.ts';
import { always, listMap, map, optional, setOf, string, struct } from '../../../api/schema/schema.ts';
import type { JsonObject } from '../json-value.ts';
import { compare, createdFields } from './compare.ts';
import { ordered, printPaths } from './fields-v1.ts';
import { mergeConfiguration } from './merge.ts';
import { removeFields } from './remove.ts';
import { emptySet, fieldSetOf, isEmptySet, union } from './set.ts';
import { structShapeOf } from './shape.ts';
import { toFieldSet } from './to-set.ts';

const entry = struct('test.Entry', 'An item.', {
  name: optional(1, string, 'Its name.'),
  zone: optional(2, string, 'Its zone.', { default: 'here' }),
  value: optional(3, string, 'Its value.'),
});
const thing = objectSchema(
  'test.Thing',
  'A thing of all shapes.',
  {
    spec: always(
      2,
      struct('test.ThingSpec', 'Its content.', {
        title: always(1, string, 'A text that is always there.'),
        data: optional(2, map(string), 'A map.'),
        words: optional(3, setOf(string), 'A set.'),
        entries: optional(4, listMap(entry, ['name', 'zone']), 'Items with keys.'),
        inner: optional(5, struct('test.Inner', 'A struct.', { a: optional(1, string, 'A text.') }), 'A struct.'),
      }),
      'Its content.',
    ),
  },
  { open: true },
);

describe('compare', () => {
  const cases: { name: string; before: JsonObject; after: JsonObject; want: Record<string, string[]> }[] = [
    {
      name: 'scalars and maps',
      before: { spec: { title: 'a', data: { k: '1', gone: 'x' } } },
      after: { spec: { title: 'b', data: { k: '1', new: 'y' } } },
      want: { added: ['.spec.data.new'], modified: ['.spec.title'], removed: ['.spec.data.gone'] },
    },
    {
      name: 'containers are added and removed with all their fields',
      before: { spec: { data: { k: '1' } } },
      after: { spec: { inner: { a: '1' }, words: ['x'] } },
      want: {
        added: ['.spec.inner', '.spec.words', '.spec.inner.a', '.spec.words[="x"]'],
        modified: [],
        removed: ['.spec.data', '.spec.data.k'],
      },
    },
    {
      name: 'items are found by their keys, defaults included',
      before: { spec: { entries: [{ name: 'a', value: '1' }, { name: 'b' }] } },
      after: {
        spec: {
          entries: [
            { name: 'b', zone: 'there' },
            { name: 'a', zone: 'here', value: '2' },
          ],
        },
      },
      want: {
        added: [
          '.spec.entries[name="b",zone="there"]',
          '.spec.entries[name="a",zone="here"].zone',
          '.spec.entries[name="b",zone="there"].name',
          '.spec.entries[name="b",zone="there"].zone',
        ],
        modified: ['.spec.entries[name="a",zone="here"].value'],
        removed: ['.spec.entries[name="b",zone="here"]', '.spec.entries[name="b",zone="here"].name'],
      },
    },
    {
      name: 'duplicates are one unit',
      before: {
        spec: {
          entries: [
            { name: 'a', value: '1' },
            { name: 'a', value: '2' },
          ],
        },
      },
      after: { spec: { entries: [{ name: 'a', value: '1' }] } },
      want: {
        added: [
          '.spec.entries[name="a",zone="here"]',
          '.spec.entries[name="a",zone="here"].name',
          '.spec.entries[name="a",zone="here"].value',
        ],
        modified: [],
        removed: ['.spec.entries[name="a",zone="here"]'],
      },
    },
    {
      name: 'null and empty containers are leaves that differ',
      before: { spec: { data: null, inner: {}, words: [] } },
      after: { spec: { data: {}, inner: {}, words: null } },
      want: { added: [], modified: ['.spec.data', '.spec.words'], removed: [] },
    },
    {
      name: 'an undeclared value is a map or a leaf, depending on its type',
      before: { extra: { a: 1, b: [1] }, other: 'text' },
      after: { extra: { a: 1, b: [1, 2] }, other: { c: 1 } },
      want: { added: ['.other.c'], modified: ['.other', '.extra.b'], removed: [] },
    },
    {
      name: 'keys that objects inherit are keys',
      before: { spec: { data: {} } },
      after: { spec: { data: JSON.parse('{"__proto__":"x","constructor":"y"}') } },
      want: { added: ['.spec.data.__proto__', '.spec.data.constructor'], modified: [], removed: [] },
    },
  ];
  for (const { name, before, after, want } of cases) {
    test(name, () => {
      const { added, modified, removed } = compare(before, after, thing);
      assert.deepEqual(
        { added: printPaths(added), modified: printPaths(modified), removed: printPaths(removed) },
        want,
      );
    });
  }

  test('ignores the fields in skip', () => {
    const before = { metadata: { name: 'a', labels: { a: '1' } }, spec: { title: 'a' } };
    const after = { metadata: { name: 'b', labels: { a: '2' } }, spec: { title: 'b' } };
    const { modified } = compare(before, after, thing, fieldSetOf(['metadata', 'name'], ['spec']));
    assert.deepEqual(printPaths(modified), ['.metadata.labels.a']);
  });
});

describe('a configuration claims', () => {
  const cases: { name: string; config: JsonObject; want: string[] }[] = [
    { name: 'leaves, not the structs around them', config: { spec: { inner: { a: '1' } } }, want: ['.spec.inner.a'] },
    { name: 'map keys', config: { spec: { data: { k: '1' } } }, want: ['.spec.data.k'] },
    {
      name: 'empty structs and maps',
      config: { spec: { inner: {}, data: null } },
      want: ['.spec.data', '.spec.inner'],
    },
    { name: 'nothing by an empty list', config: { spec: { words: [], entries: [] } }, want: [] },
    {
      name: 'items and their fields',
      config: { spec: { entries: [{ name: 'a' }], words: ['x'] } },
      want: ['.spec.entries[name="a",zone="here"]', '.spec.entries[name="a",zone="here"].name', '.spec.words[="x"]'],
    },
    {
      name: 'undeclared keys with their contents',
      config: { extra: { a: { b: 1 } } },
      want: ['.extra', '.extra.a', '.extra.a.b'],
    },
  ];
  for (const { name, config, want } of cases) {
    test(name, () => {
      assert.deepEqual(printPaths(toFieldSet(config, thing)), want);
    });
  }
});

describe('properties', () => {
  const word = fc.constantFrom('a', 'b', 'c', '__proto__');
  const spec = fc.record(
    {
      title: fc.constantFrom('', 'x'),
      data: fc.dictionary(word, fc.constantFrom('1', '2'), { noNullPrototype: true }),
      words: fc.uniqueArray(word),
      entries: fc.uniqueArray(
        fc.record({ name: word, zone: fc.constantFrom('here', 'there'), value: word }, { requiredKeys: ['name'] }),
        { selector: ({ name, zone }) => `${name} ${zone ?? 'here'}` },
      ),
      inner: fc.record({ a: word }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  );
  const extra = fc.dictionary(word, fc.constantFrom(1, 'x', null), { noNullPrototype: true });
  const anyThing: fc.Arbitrary<JsonObject> = fc.record({ spec, extra }, { requiredKeys: ['spec'] });

  test('an object equals itself', () => {
    fc.assert(
      fc.property(anyThing, (object) => {
        const { added, modified, removed } = compare(object, structuredClone(object), thing);
        assert.ok([added, modified, removed].every(isEmptySet));
      }),
    );
  });

  test('fields that one direction adds, the other removes', () => {
    fc.assert(
      fc.property(anyThing, anyThing, (left, right) => {
        const [there, back] = [compare(left, right, thing), compare(right, left, thing)];
        assert.deepEqual(ordered(there.added), ordered(back.removed));
        assert.deepEqual(ordered(there.modified), ordered(back.modified));
      }),
    );
  });

  test('a create owns the differences from the empty object', () => {
    fc.assert(
      fc.property(anyThing, (object) => {
        const { added, modified } = compare({ metadata: {}, spec: { title: '' } }, object, thing);
        const created = createdFields(object, structShapeOf(thing), emptySet);
        assert.equal(JSON.stringify(created), JSON.stringify(ordered(union(added, modified))));
      }),
    );
  });

  test('a merge contains the configuration, and removing its additions restores the live object', () => {
    fc.assert(
      fc.property(anyThing, anyThing, (live, config) => {
        const merged = mergeConfiguration(live, config, thing);
        const { added, modified } = compare(merged, config, thing);
        assert.ok(isEmptySet(added));
        // An empty container in the configuration does not clear the live one.
        for (const path of printPaths(modified)) assert.match(path, /^\.(?:spec|extra)/);
        const back = removeFields(merged, compare(live, merged, thing).added, thing);
        assert.ok(isEmptySet(compare(live, back, thing).removed));
      }),
    );
  });
});

test('a Service has the same fields as in Kubernetes', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'web',
      finalizers: ['b', 'a'],
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }],
    },
    spec: {
      ports: [{ port: 443 }, { port: 80, protocol: 'UDP' }],
      selector: { app: 'web' },
      clusterIPs: ['192.0.2.1'],
    },
    status: { loadBalancer: { ingress: [{ ip: '192.0.2.2' }] }, conditions: [{ type: 'Ready', status: 'True' }] },
  };
  assert.equal(
    JSON.stringify(
      createdFields(object, structShapeOf(service), fieldSetOf(['apiVersion'], ['kind'], ['metadata', 'name'])),
      null,
      1,
    ).replaceAll(/[\n ]/g, ''),
    JSON.stringify({
      'f:metadata': {
        'f:finalizers': { '.': {}, 'v:"a"': {}, 'v:"b"': {} },
        'f:ownerReferences': { '.': {}, 'k:{"uid":"u"}': {} },
      },
      'f:spec': {
        'f:clusterIPs': {},
        'f:ports': {
          '.': {},
          'k:{"port":80,"protocol":"UDP"}': { '.': {}, 'f:port': {}, 'f:protocol': {} },
          'k:{"port":443,"protocol":"TCP"}': { '.': {}, 'f:port': {} },
        },
        'f:selector': {},
      },
      'f:status': {
        'f:conditions': { '.': {}, 'k:{"type":"Ready"}': { '.': {}, 'f:status': {}, 'f:type': {} } },
        'f:loadBalancer': { 'f:ingress': {} },
      },
    }),
  );
});
