import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Transport } from '../../client/transport.ts';
import { urlOf } from '../../client/transport.ts';
import { applyManifests } from './apply.ts';
import { parseManifests, readManifests } from './manifests.ts';

const service = (name: string, more = ''): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}${more}}\n`;

/** An API server that records its requests. */
function recorder(status = 200, answer: object = {}): Transport & { readonly requests: string[] } {
  const requests: string[] = [];
  const resources = {
    '/api/v1': [
      { name: 'services', kind: 'Service', namespaced: true },
      { name: 'services/status', kind: 'Service', namespaced: true },
      { name: 'namespaces', kind: 'Namespace', namespaced: false },
    ],
  };
  return {
    requests,
    async request(call) {
      requests.push(`${call.method} ${urlOf(call)}`);
      if (call.method === 'PATCH') return { status, headers: {}, body: JSON.stringify(answer) };
      return call.path === '/api/v1'
        ? { status: 200, headers: {}, body: JSON.stringify({ resources: resources[call.path] }) }
        : { status: 404, headers: {}, body: '404 page not found\n' };
    },
    stream: () => assert.fail('nothing is watched'),
    [Symbol.dispose]: () => {},
  };
}

test('namespaces are applied first, and each version is discovered once', async () => {
  const api = recorder();
  const text = [
    service('web', ', namespace: shop'),
    service('db'),
    'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}',
  ];
  await applyManifests(api, 'east', parseManifests(text.join('---\n'), 'shop.yaml'));
  assert.deepEqual(api.requests, [
    'GET /api/v1',
    'PATCH /api/v1/namespaces/shop?fieldManager=fairlead&force=true',
    'PATCH /api/v1/namespaces/shop/services/web?fieldManager=fairlead&force=true',
    'PATCH /api/v1/namespaces/default/services/db?fieldManager=fairlead&force=true',
  ]);
});

test('a rejected object is reported with its name, file, cluster and reason', async () => {
  const api = recorder(422, { kind: 'Status', message: 'Service "web" is invalid: spec.ports: Required value' });
  await assert.rejects(applyManifests(api, 'east', parseManifests(service('web'), 'shop.yaml')), {
    message:
      'cannot apply Service "web" of shop.yaml to cluster "east": Service "web" is invalid: spec.ports: Required value',
  });
});

test('a kind that is not served is reported by name', async () => {
  const text = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}';
  await assert.rejects(applyManifests(recorder(), 'east', parseManifests(text, 'a.yaml')), {
    message:
      'cannot apply Deployment "web" of a.yaml to cluster "east": no matches for kind "Deployment" in version "apps/v1"',
  });
});

test('expands Lists, skips empty documents, accepts JSON, and reads yes as true', () => {
  const list = JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [JSON.parse('{"apiVersion":"v1","kind":"A","metadata":{"name":"x"},"spec":{}}')],
  });
  const manifests = parseManifests(`---\n${list}\n---\n---\n${service('web')}publish: yes\n`, 'a.yaml');
  assert.deepEqual(
    manifests.map(({ kind, name }) => `${kind} ${name}`),
    ['A x', 'Service web'],
  );
  assert.equal(manifests[1]?.object['publish'], true);
});

const errors: readonly (readonly [given: string, want: RegExp])[] = [
  ['kind: Service', /^a\.yaml: apiVersion is missing$/],
  ['apiVersion: v1\nkind: 3', /^a\.yaml: kind is not a string$/],
  ['apiVersion: v1\nkind: Service', /^a\.yaml: metadata\.name is missing$/],
  [`${service('web')}---\n- 1`, /^a\.yaml, document 2: expected an object, found \[1\]$/],
  ['a: [', /^a\.yaml:1:5: unexpected end of the stream within a flow collection$/],
];
for (const [given, want] of errors) {
  test(`manifests reject ${JSON.stringify(given)}`, () =>
    assert.throws(() => parseManifests(given, 'a.yaml'), { message: want, code: 'USAGE' }));
}

test('manifests reject alias bombs and an alias of itself', () => {
  const levels = Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(',')}]\n`);
  const bomb = `${service('web')}a0: &a0 x\n${levels.join('')}`;
  const long = `${service('web')}a: &a ${'x'.repeat(100_000)}\nb: [${Array(1000).fill('*a').join(',')}]\n`;
  for (const text of [bomb, long, `${service('web')}a: &a [*a]\n`]) {
    assert.throws(() => parseManifests(text, 'a.yaml'), { message: /excessive aliasing/, code: 'USAGE' });
  }
});

test('a directory is read in alphabetical order', async () => {
  const path = await mkdtemp(join(tmpdir(), 'fairlead-apply-'));
  try {
    await assert.rejects(readManifests(path), { message: /there is no \.yaml, \.yml or \.json file in it$/ });
    await writeFile(join(path, 'b.yml'), service('second'));
    await writeFile(join(path, 'a.yaml'), service('first'));
    await writeFile(join(path, 'notes.txt'), 'not a manifest: [');
    assert.deepEqual(
      (await readManifests(path)).map(({ name }) => name),
      ['first', 'second'],
    );
  } finally {
    await rm(path, { recursive: true });
  }
  await assert.rejects(readManifests(path), { message: /^cannot read --apply .*: no such file or directory$/ });
});

test('the examples are valid manifests', async () => {
  const examples = join(import.meta.dirname, '../../../examples');
  const kinds = async (path: string): Promise<string[]> =>
    (await readManifests(join(examples, path))).map(({ kind, name }) => `${kind}/${name}`);
  assert.deepEqual(await kinds('web.yaml'), ['Service/web', 'EndpointSlice/web-1']);
  assert.deepEqual(await kinds('two-clusters'), ['ServiceExport/cart', 'Service/cart', 'Namespace/shop']);
});
