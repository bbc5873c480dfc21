import assert from 'node:assert/strict';
import { test } from 'node:test';

import { portClaim } from '../../server/allocate/claims.ts';
import type { Entry } from '../../store/store.ts';
import { check } from './problems.ts';

const entry = (key: string, value: unknown): Entry => ({
  key: `/registry/${key}`,
  value: typeof value === 'string' ? value : JSON.stringify(value),
  revision: 2,
  created: 2,
});
const object = (kind: string, key: string, content: object = {}): Entry => {
  const [name, namespace] = key.split('/').toReversed();
  const inNamespace = key.split('/').length > 2 ? { namespace } : {};
  return entry(key, { kind, apiVersion: 'v1', metadata: { name, ...inNamespace }, ...content });
};

const shop = object('Namespace', 'namespaces/shop');
const map = object('ConfigMap', 'configmaps/shop/a');
const web = object('Service', 'services/shop/web', {
  spec: { type: 'NodePort', ports: [{ port: 1, nodePort: 30001 }] },
});
const claim = entry('nodeports/30001', portClaim({ metadata: { namespace: 'shop', name: 'web' } } as never));

const cases: readonly (readonly [name: string, entries: readonly Entry[], problems: readonly RegExp[]])[] = [
  [
    'a consistent store',
    [shop, map, web, claim, entry('tokenkeys/a', '{}'), entry('example.org/foos/shop/a', 'x')],
    [],
  ],
  [
    'a value that is not an object',
    [shop, entry('configmaps/shop/a', '{"kind"')],
    [/^\/registry\/configmaps\/shop\/a: .*JSON/],
  ],
  [
    'an object of another kind',
    [shop, object('Secret', 'configmaps/shop/a')],
    [/v1 Secret cannot be read as ConfigMap/],
  ],
  [
    'an object at the key of another',
    [shop, { ...map, key: '/registry/configmaps/shop/b' }],
    [/b: has the object shop\/a$/],
  ],
  ['a missing namespace', [map], [/^\/registry\/configmaps\/shop\/a: namespace "shop" does not exist$/]],
  [
    'a missing claim',
    [shop, web],
    [/^\/registry\/nodeports\/30001: Service shop\/web needs it, but does not hold it$/],
  ],
  ['a claim without a Service', [shop, claim], [/^\/registry\/nodeports\/30001: no Service needs it$/]],
];
for (const [name, entries, want] of cases) {
  test(`a check reports ${name}`, () => {
    const { problems } = check(entries);
    assert.equal(problems.length, want.length, problems.join('\n'));
    for (const [index, pattern] of want.entries()) assert.match(problems[index] ?? '', pattern);
  });
}

test('a check counts encrypted values', () => {
  assert.deepEqual(check([shop, entry('secrets/shop/s', 'k8s:enc:aesgcm:v1:k:AA')]), { problems: [], encrypted: 1 });
});
