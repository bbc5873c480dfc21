import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Kind } from '../../api/kind.ts';
import { defineKind } from '../../api/kind.ts';
import { kinds as servedKinds } from '../../api/kinds/registry.ts';
import { everything } from '../../api/schema/testing/example.ts';
import { openApiDocument, openApiIndex, openApiV2 } from './openapi.ts';

const example: Kind = defineKind({
  group: 'example.org',
  version: 'v1',
  kind: 'Everything',
  plural: 'everythings',
  namespaced: true,
  hasStatus: true,
  schema: everything,
  nameErrors: () => [],
});
const custom: Kind = { ...example, version: 'v2', custom: true };
const kinds: readonly Kind[] = [example, custom];

interface Tree {
  readonly [key: string]: Tree;
}
const parsed = (document: { readonly body: string } | undefined): Tree => JSON.parse(document?.body ?? 'null') as Tree;
const item = '/apis/example.org/v1/namespaces/{namespace}/everythings/{name}';

test('the index refers to each document by its hash', () => {
  const { paths } = parsed(openApiIndex(kinds));
  assert.deepEqual(Object.keys(paths ?? {}), ['apis/example.org/v1', 'apis/example.org/v2']);
  const hash = openApiDocument(kinds, 'apis/example.org/v1')?.hash ?? '';
  assert.match(hash, /^[0-9A-F]{128}$/);
  assert.deepEqual(paths?.['apis/example.org/v1'], {
    serverRelativeURL: `/openapi/v3/apis/example.org/v1?hash=${hash}`,
  });
  assert.equal(openApiDocument(kinds, 'apis/other/v1'), undefined);
});

test('a patch operation has its kind, parameters and content types', () => {
  const patch = parsed(openApiDocument(kinds, 'apis/example.org/v1'))['paths']?.[item]?.['patch'];
  assert.deepEqual(patch?.['x-kubernetes-group-version-kind'], {
    group: 'example.org',
    version: 'v1',
    kind: 'Everything',
  });
  const names = Object.values(patch?.['parameters'] ?? {}).map(({ name }) => name);
  assert.deepEqual(names, ['dryRun', 'fieldManager', 'fieldValidation', 'force']);
  assert.ok(patch?.['requestBody']?.['content']?.['application/strategic-merge-patch+json']);
});

test('custom kinds have no strategic merge patch', () => {
  const patch = parsed(openApiDocument(kinds, 'apis/example.org/v2'))['paths']?.[item.replace('v1', 'v2')]?.['patch'];
  assert.deepEqual(Object.keys(patch?.['requestBody']?.['content'] ?? {}), [
    'application/json-patch+json',
    'application/merge-patch+json',
    'application/apply-patch+yaml',
  ]);
});

test('schemas have the extensions for patch and apply', () => {
  const schemas = parsed(openApiDocument(kinds, 'apis/example.org/v1'))['components']?.['schemas'];
  const top = schemas?.['io.example.v1.Everything'];
  assert.deepEqual(top?.['x-kubernetes-group-version-kind'], [
    { group: 'example.org', version: 'v1', kind: 'Everything' },
  ]);
  assert.deepEqual(top?.['properties']?.['ports'], {
    description: 'Ports.',
    type: 'array',
    items: { $ref: '#/components/schemas/io.example.v1.Port' },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['port', 'protocol'],
    'x-kubernetes-patch-strategy': 'merge',
    'x-kubernetes-patch-merge-key': 'port',
  });
  const port = schemas?.['io.example.v1.Port'];
  assert.deepEqual(port?.['required'], ['port']);
  assert.deepEqual(port?.['properties']?.['protocol'], {
    description: 'Its protocol.',
    default: 'TCP',
    type: 'string',
    enum: ['TCP', 'UDP'],
  });
  assert.deepEqual(top?.['properties']?.['status'], {
    description: 'State.',
    default: {},
    allOf: [{ $ref: '#/components/schemas/io.example.v1.Status' }],
  });
});

test('a subresource with another kind refers to the schema of that kind', () => {
  const { paths, components } = parsed(openApiDocument(servedKinds, 'api/v1'));
  const post = paths?.['/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token']?.['post'];
  const tokenRequest = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };
  assert.equal(post?.['operationId'], 'createCoreV1NamespacedServiceAccountToken');
  assert.deepEqual(post?.['x-kubernetes-group-version-kind'], tokenRequest);
  assert.deepEqual(
    components?.['schemas']?.['io.k8s.api.authentication.v1.TokenRequest']?.['x-kubernetes-group-version-kind'],
    [tokenRequest],
  );
});

/** All `$ref`s of a document and the names it defines. */
function danglingRefs(text: string, prefix: string, names: ReadonlySet<string>): readonly string[] {
  return [...text.matchAll(/"\$ref":"([^"]+)"/g)]
    .map(([, ref = '']) => ref)
    .filter((ref) => !ref.startsWith(prefix) || !names.has(ref.slice(prefix.length)));
}

for (const [name, list] of [
  ['the example', kinds],
  ['the kinds served', servedKinds],
] as const) {
  test(`every reference of ${name} resolves, and operation IDs are unique`, () => {
    const index = parsed(openApiIndex(list))['paths'] ?? {};
    for (const key of Object.keys(index)) {
      const document = openApiDocument(list, key);
      const schemas = parsed(document)['components']?.['schemas'] ?? {};
      assert.deepEqual(danglingRefs(document?.body ?? '', '#/components/schemas/', new Set(Object.keys(schemas))), []);
    }
    const { body } = openApiV2(list);
    const definitions = parsed({ body })['definitions'] ?? {};
    assert.deepEqual(danglingRefs(body, '#/definitions/', new Set(Object.keys(definitions))), []);
    const ids = [...body.matchAll(/"operationId":"([^"]+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length);
  });
}

test('OpenAPI v2 has the texts that the suite of kubectl looks for', () => {
  const text = JSON.stringify(openApiV2(servedKinds));
  for (const part of ['list of returned', 'List of services', 'Watch for changes to the described resources']) {
    assert.ok(text.includes(part), part);
  }
});
