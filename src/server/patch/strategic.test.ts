import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';

import { isStatusError } from '../../api/errors.ts';
import { service } from '../../api/kinds/core/service/schema.ts';
import { objectSchema } from '../../api/metadata.ts';
import { listMap, list, map, mergeList, optional, string, struct } from '../../api/schema/schema.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import { applyStrategicMergePatch } from './strategic.ts';
import type { JsonObject } from './json-value.ts';
import { applyMergePatch } from './merge-patch.ts';

const volume = struct('test.Volume', 'A volume.', {
  name: optional(1, string, 'Its name.'),
  secret: optional(2, map(string), 'From a secret.'),
  empty: optional(3, map(string), 'An empty one.'),
  paths: optional(4, mergeList(string), 'Merged texts.'),
});
const pod = objectSchema('test.Pod', 'A pod.', {
  volumes: optional(2, listMap(volume, ['name'], { mergeKey: 'name', retainKeys: true }), 'Its volumes.'),
  args: optional(3, list(string), 'Replaced whole.'),
  matrix: optional(4, mergeList(list(string)), 'Lists in a list.'),
});

interface Case {
  readonly name: string;
  readonly schema?: StructSchema;
  readonly document: JsonObject;
  readonly patch: JsonObject;
  readonly want: JsonObject;
}

const ports = (...numbers: readonly number[]): JsonObject => ({ spec: { ports: numbers.map((port) => ({ port })) } });
const volumes = (...names: readonly string[]): JsonObject => ({ volumes: names.map((name) => ({ name })) });

function check(cases: readonly Case[]): void {
  for (const { name, schema = service, document, patch, want } of cases) {
    test(name, () => {
      const [before, sent] = [structuredClone(document), structuredClone(patch)];
      assert.deepEqual(applyStrategicMergePatch(document, patch, schema), want);
      assert.deepEqual([document, patch], [before, sent], 'the input was changed');
    });
  }
}

describe('objects', () => {
  check([
    {
      name: 'merge; null deletes',
      document: { metadata: { labels: { a: '1', b: '2' } } },
      patch: { metadata: { labels: { a: null, c: '3' } } },
      want: { metadata: { labels: { b: '2', c: '3' } } },
    },
    {
      name: '$patch: replace replaces',
      document: { metadata: { labels: { a: '1' } } },
      patch: { metadata: { labels: { $patch: 'replace', b: '2' } } },
      want: { metadata: { labels: { b: '2' } } },
    },
    {
      name: '$patch: delete empties',
      document: { metadata: { labels: { a: '1' } } },
      patch: { metadata: { labels: { $patch: 'delete' } } },
      want: { metadata: { labels: {} } },
    },
    {
      name: 'new ones come without nulls and directives',
      document: {},
      patch: {
        spec: {
          type: null,
          ports: [
            { port: 80, name: null },
            { $patch: 'delete', port: 1 },
          ],
          selector: { $patch: 'delete' },
        },
      },
      want: { spec: { ports: [{ port: 80 }] } },
    },
    {
      name: 'replace a value of another type',
      document: { spec: { selector: 'x' } },
      patch: { spec: { selector: { a: null, b: '1' } } },
      want: { spec: { selector: { b: '1' } } },
    },
    {
      name: '$retainKeys drops the other members of a union',
      schema: pod,
      document: { volumes: [{ name: 'v', secret: { s: '1' } }] },
      patch: { volumes: [{ name: 'v', $retainKeys: ['name', 'empty'], empty: {} }] },
      want: { volumes: [{ name: 'v', empty: {} }] },
    },
    {
      name: 'keys that objects inherit are keys',
      document: { metadata: { labels: {} } },
      patch: { metadata: { labels: JSON.parse('{"__proto__":"x","constructor":"y"}') } },
      want: { metadata: { labels: JSON.parse('{"__proto__":"x","constructor":"y"}') } },
    },
  ]);
});

describe('lists', () => {
  check([
    {
      name: 'merge by their key',
      document: { spec: { ports: [{ port: 80, name: 'http' }, { port: 443 }] } },
      patch: { spec: { ports: [{ port: 443, name: 'https' }, { port: 53 }] } },
      want: { spec: { ports: [{ port: 80, name: 'http' }, { port: 443, name: 'https' }, { port: 53 }] } },
    },
    {
      name: 'SRV-8 ports merge by number alone, which confuses TCP and UDP on one port',
      document: {
        spec: {
          ports: [
            { port: 53, protocol: 'TCP' },
            { port: 53, protocol: 'UDP' },
          ],
        },
      },
      patch: { spec: { ports: [{ port: 53, protocol: 'UDP', targetPort: 1053 }] } },
      want: {
        spec: {
          ports: [
            { port: 53, protocol: 'UDP', targetPort: 1053 },
            { port: 53, protocol: 'UDP' },
          ],
        },
      },
    },
    {
      name: 'SRV-8 deleting a port deletes it for all protocols',
      document: { spec: { ports: [{ port: 53, protocol: 'TCP' }, { port: 53, protocol: 'UDP' }, { port: 80 }] } },
      patch: { spec: { ports: [{ port: 53, $patch: 'delete' }] } },
      want: ports(80),
    },
    {
      name: '$patch: replace keeps only the items of the patch',
      document: ports(80, 443),
      patch: { spec: { ports: [{ $patch: 'replace' }, { port: 53 }] } },
      want: ports(53),
    },
    {
      name: 'of scalars gain new items, before items without an order',
      document: { metadata: { finalizers: ['a', 'b'] } },
      patch: { metadata: { finalizers: ['c', 'b'] } },
      want: { metadata: { finalizers: ['c', 'a', 'b'] } },
    },
    {
      name: 'of scalars lose deleted items',
      document: { metadata: { finalizers: ['a', 'b', 'c'] } },
      patch: { metadata: { '$deleteFromPrimitiveList/finalizers': ['b', 'x'], finalizers: ['d'] } },
      want: { metadata: { finalizers: ['d', 'a', 'c'] } },
    },
    {
      name: 'deleting from a missing list',
      document: { metadata: {} },
      patch: { metadata: { '$deleteFromPrimitiveList/finalizers': ['b'] } },
      want: { metadata: {} },
    },
    {
      name: 'without a strategy are replaced',
      schema: pod,
      document: { args: ['a', 'b'] },
      patch: { args: ['c'] },
      want: { args: ['c'] },
    },
    {
      name: 'owners merge by uid',
      document: { metadata: { ownerReferences: [{ uid: '1', name: 'a' }] } },
      patch: { metadata: { ownerReferences: [{ uid: '1', controller: true }] } },
      want: { metadata: { ownerReferences: [{ uid: '1', name: 'a', controller: true }] } },
    },
    {
      name: 'merge inside items',
      schema: pod,
      document: { volumes: [{ name: 'v', paths: ['a'], secret: { x: '1' } }] },
      patch: { volumes: [{ name: 'v', paths: ['b'], secret: { y: '2', x: null } }] },
      want: { volumes: [{ name: 'v', paths: ['b', 'a'], secret: { y: '2' } }] },
    },
  ]);
});

describe('order', () => {
  check([
    {
      name: 'the patch that kubectl sends to replace a port',
      document: { spec: { ports: [{ port: 80 }], type: 'ClusterIP' } },
      patch: {
        spec: { '$setElementOrder/ports': [{ port: 81 }], ports: [{ port: 81 }, { $patch: 'delete', port: 80 }] },
      },
      want: { spec: { ports: [{ port: 81 }], type: 'ClusterIP' } },
    },
    {
      name: 'is set for the items of the directive',
      document: ports(1, 2, 3),
      patch: { spec: { '$setElementOrder/ports': [{ port: 3 }, { port: 2 }, { port: 1 }] } },
      want: ports(3, 2, 1),
    },
    {
      name: 'of the rest stays, each before the item it preceded',
      schema: pod,
      document: volumes('x', 'a', 'y', 'b', 'z'),
      patch: { '$setElementOrder/volumes': [{ name: 'a' }, { name: 'n' }, { name: 'b' }], volumes: [{ name: 'n' }] },
      want: volumes('x', 'a', 'n', 'y', 'b', 'z'),
    },
    {
      name: 'of the patch wins over that of the server',
      document: ports(1, 2, 3),
      patch: ports(3, 1),
      want: ports(2, 3, 1),
    },
    {
      name: 'of scalars',
      document: { metadata: { finalizers: ['a', 'b', 'c'] } },
      patch: { metadata: { '$setElementOrder/finalizers': ['c', 'd', 'a'], finalizers: ['d'] } },
      want: { metadata: { finalizers: ['b', 'c', 'd', 'a'] } },
    },
    {
      name: 'of a list that is new',
      document: {},
      patch: { spec: { '$setElementOrder/ports': [{ port: 1 }], ports: [{ port: 1 }] } },
      want: ports(1),
    },
    {
      name: 'of nothing',
      document: { spec: {} },
      patch: { spec: { '$setElementOrder/ports': [] } },
      want: { spec: {} },
    },
  ]);
});

describe('rejected patches', () => {
  const document = { metadata: { labels: { a: '1' }, finalizers: ['a'] }, spec: { ports: [{ port: 80 }] } };
  const cases: { patch: unknown; schema?: StructSchema; code: number; message: string }[] = [
    { patch: [], code: 400, message: 'json: cannot unmarshal array into Go value of type map[string]interface {}' },
    { patch: { metadata: { $retainKeys: 'labels' } }, code: 400, message: 'invalid patch format of retainKeys' },
    {
      patch: { metadata: { $retainKeys: ['labels'], annotations: {} } },
      code: 400,
      message: 'invalid patch format of retainKeys',
    },
    {
      patch: { spec: { '$setElementOrder/ports': {} } },
      code: 400,
      message: 'invalid patch format of setElementOrder list',
    },
    { patch: { spec: { $setElementOrder: [] } }, code: 400, message: 'invalid patch format of setElementOrder list' },
    {
      patch: { metadata: { '$deleteFromPrimitiveList/finalizers': 'a' } },
      code: 400,
      message: 'invalid patch format of primitive list',
    },
    {
      patch: { metadata: { labels: { $patch: 'merge', b: '2' } } },
      code: 422,
      message: 'unknown patch type: merge in map: map[$patch:merge b:2]',
    },
    {
      patch: { spec: { ports: [{ name: 'x' }] } },
      code: 422,
      message: 'map: map[name:x] does not contain declared merge key: port',
    },
    {
      patch: { spec: { ports: [80] } },
      code: 422,
      message: 'list element types are not identical: [[map[port:80]] [80]]',
    },
    {
      patch: { spec: { '$setElementOrder/ports': [{ port: 1 }], ports: [{ port: 2 }] } },
      code: 422,
      message: "The order in patch list:\n[map[port:2]]\n doesn't match $setElementOrder list:\n[map[port:1]]\n",
    },
    {
      schema: pod,
      patch: { matrix: [['a']] },
      code: 422,
      message: 'the server rejected our request due to an error in our request',
    },
  ];
  for (const { patch, schema = service, code, message } of cases) {
    test(`${code} ${JSON.stringify(patch)}`, () => {
      assert.throws(
        () => applyStrategicMergePatch({ ...document, matrix: [['b']] }, patch, schema),
        (error) => {
          assert.ok(isStatusError(error), String(error));
          assert.deepEqual({ code: error.status.code, message: error.status.message }, { code, message });
          return true;
        },
      );
    });
  }
});

describe('properties', () => {
  const word = fc.constantFrom('a', 'b', 'c');
  const content = fc.record(
    {
      labels: fc.dictionary(word, word, { noNullPrototype: true }),
      volumes: fc.uniqueArray(fc.record({ name: word, secret: fc.dictionary(word, word, { noNullPrototype: true }) }), {
        selector: ({ name }) => name,
      }),
    },
    { requiredKeys: [], noNullPrototype: true },
  );

  test('is idempotent', () => {
    fc.assert(
      fc.property(content, content, (document, patch) => {
        const once = applyStrategicMergePatch(document, patch, pod);
        assert.deepEqual(applyStrategicMergePatch(once, patch, pod), once);
      }),
    );
  });

  test('a patch with $patch: replace returns its fields', () => {
    fc.assert(
      fc.property(content, content, (document, wanted) => {
        assert.deepEqual(applyStrategicMergePatch(document, { ...wanted, $patch: 'replace' }, pod), wanted);
        const list = wanted.volumes ?? [];
        const replaced = applyStrategicMergePatch(
          { volumes: [], ...document },
          { volumes: [...list, { $patch: 'replace' }] },
          pod,
        );
        assert.deepEqual(replaced['volumes'], list);
      }),
    );
  });

  test('equals a merge patch without lists', () => {
    const nested = fc.dictionary(
      word,
      fc.oneof(word, fc.constant(null), fc.dictionary(word, word, { noNullPrototype: true })),
      {
        noNullPrototype: true,
      },
    );
    fc.assert(
      fc.property(nested, nested, (labels, patch) => {
        const document = { metadata: { labels } };
        const body = { metadata: { labels: patch } };
        assert.deepEqual(applyStrategicMergePatch(document, body, pod), applyMergePatch(document, body));
      }),
    );
  });
});
