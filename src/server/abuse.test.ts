import assert from 'node:assert/strict';
import { test } from 'node:test';

import { until } from './testing/until.ts';
import type { Answer } from './testing/server.ts';
import { testServer } from './testing/server.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const services = '/api/v1/namespaces/default/services';

test('resumes a watch over more history than a slow client may have pending', async () => {
  await using server = await testServer();
  const { body: list } = await server.ask('GET', configMaps);
  const text = 'x'.repeat(900_000);
  for (let index = 0; index < 24; index++) {
    await server.ask('POST', configMaps, { body: { metadata: { name: `m${index}` }, data: { text } } });
  }
  for (const query of [`resourceVersion=${list.metadata.resourceVersion}`, 'labelSelector=!none']) {
    const watch = await server.watch(`${configMaps}?watch=1&${query}`);
    await until('everything has come', () => watch.events.length >= 24);
    assert.equal(watch.ended, false, query);
    watch.close();
  }
});

test('apply reports list items of the live object that have no key', async () => {
  await using server = await testServer();
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'web' } };
  await server.ask('POST', accounts, { body: { ...account, secrets: [{ kind: 'x' }] } });
  const answer = await server.ask('PATCH', `${accounts}/web?fieldManager=me&force=true`, {
    body: { ...account, secrets: [{ name: 'a' }] },
    type: 'application/apply-patch+yaml',
  });
  assert.equal(answer.status, 500);
  assert.match(
    answer.body.message,
    /^failed to create typed live object \(default\/web; \/v1, Kind=ServiceAccount\): \.secrets: element 0: associative/,
  );
});

test('limits the claims of a Service to what one commit can release', async () => {
  await using server = await testServer();
  const ports = (from: number, count: number): unknown =>
    Array.from({ length: count }, (_, index) => ({ name: `p${from + index}`, port: from + index }));
  const refused = /^Service "big" is invalid: spec.ports: Forbidden: a Service may hold/;
  const post = (count: number): Promise<Answer> =>
    server.ask('POST', services, {
      body: { metadata: { name: 'big' }, spec: { type: 'NodePort', ports: ports(1, count) } },
    });

  const tooBig = await post(123);
  assert.deepEqual([tooBig.status, refused.test(tooBig.body.message)], [422, true], tooBig.text);
  assert.equal((await post(122)).status, 201);
  // Releasing all others at once exceeds a commit, and so does one more claim.
  for (const patch of [ports(1001, 122), ports(1, 123)]) {
    const body = { spec: { ports: patch } };
    const changed = await server.ask('PATCH', `${services}/big`, { body, type: 'application/merge-patch+json' });
    assert.deepEqual([changed.status, refused.test(changed.body.message)], [422, true], changed.text);
  }
  const endpoints = '/api/v1/namespaces/default/endpoints';
  assert.equal((await server.ask('POST', endpoints, { body: { metadata: { name: 'big' } } })).status, 201);
  assert.equal((await server.ask('DELETE', `${services}/big`)).status, 200);
  assert.equal((await post(122)).status, 201, 'everything was released');
});

interface Bad {
  readonly name: string;
  readonly method?: string;
  readonly url: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly accept?: string;
  readonly status: number | readonly number[];
}

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const laughs = [
  'a: &a [x,x,x,x,x,x,x,x,x,x]',
  ...Array.from('bcdefghi', (name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]},`.repeat(9)}x]`),
].join('\n');
const token = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const v = 'meta.k8s.io/v1';
const merge = 'application/merge-patch+json';
const jsonPatch = 'application/json-patch+json';
const manyOperations = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'Service' }));

const cases: readonly Bad[] = [
  { name: 'no body', url: services, body: '', status: 400 },
  { name: 'half an object', url: services, body: '{"metadata":{', status: 400 },
  { name: 'a list', url: services, body: '[]', status: 400 },
  { name: 'a number', url: services, body: '1', status: 400 },
  { name: 'null', url: services, body: 'null', status: [400, 422] },
  { name: 'text after the object', url: services, body: '{}{}', status: 400 },
  { name: 'a control character', url: services, body: '{"metadata":{"name":"a\u0001"}}', status: [400, 422] },
  { name: 'bytes that are not UTF-8', url: services, body: Buffer.from([0x22, 0xff, 0xfe, 0x22]), status: 400 },
  { name: 'a byte order mark', url: services, body: '\ufeff{}', status: [400, 422] },
  { name: 'nesting of 100,000', url: services, body: nested(100_000), status: 400 },
  { name: 'nesting of 100,000 lists', url: services, body: '['.repeat(100_000), status: 400 },
  { name: 'nesting in YAML', url: services, body: '['.repeat(20_000), type: 'application/yaml', status: 400 },
  {
    name: 'nesting in a patch',
    method: 'PATCH',
    url: `${services}/web`,
    body: nested(50_000),
    type: merge,
    status: 400,
  },
  { name: 'aliases that multiply', url: services, body: laughs, type: 'application/yaml', status: 400 },
  { name: 'an alias of itself', url: services, body: 'a: &a [*a]', type: 'application/yaml', status: 400 },
  { name: 'two documents', url: services, body: 'a: 1\n---\nb: 1', type: 'application/yaml', status: 400 },
  {
    name: 'garbage as protobuf',
    url: services,
    body: 'k8s\0\xff\xff',
    type: 'application/vnd.kubernetes.protobuf',
    status: 400,
  },
  { name: 'an unknown type', url: services, body: '{}', type: 'text/html', status: 415 },
  { name: 'an invalid media type', url: services, body: '{}', type: ';;;/', status: [415, 422] },
  {
    name: 'a patch without a patch type',
    method: 'PATCH',
    url: `${services}/web`,
    body: {},
    type: 'application/json',
    status: 415,
  },
  { name: 'an invalid Accept header', method: 'GET', url: services, accept: 'image/png', status: 406 },
  { name: 'an Accept of commas', method: 'GET', url: services, accept: ',;,=;q=x,'.repeat(1000), status: 406 },
  {
    name: '10,001 operations',
    method: 'PATCH',
    url: `${services}/web`,
    body: manyOperations,
    type: jsonPatch,
    status: 413,
  },
  { name: 'a body over 3 MiB', url: services, body: 'x'.repeat(3 * 1024 * 1024 + 1), status: 413 },
  {
    name: 'a label value of 1 MB',
    url: services,
    body: { metadata: { name: 'a', labels: { a: 'x'.repeat(1e6) } } },
    status: 422,
  },
  {
    name: 'labels on the prototype',
    url: services,
    body: '{"metadata":{"name":"a","labels":{"__proto__":"x"}},"spec":{"ports":[{"port":1}]}}',
    status: [400, 422],
  },
  {
    name: 'a prototype for the object',
    url: services,
    body: '{"__proto__":{"metadata":{"name":"a"}}}',
    status: [400, 422],
  },
  {
    name: '20,000 ports',
    url: services,
    body: { metadata: { name: 'a' }, spec: { ports: Array.from({ length: 20_000 }, (_, port) => ({ port })) } },
    status: [413, 422],
  },
  {
    name: 'an annotation of 1 MB',
    url: services,
    body: { metadata: { name: 'a', annotations: { a: 'x'.repeat(1e6) } }, spec: { ports: [{ port: 1 }] } },
    status: 422,
  },
  { name: 'a bad label selector', method: 'GET', url: `${services}?labelSelector=a in (`, status: 400 },
  { name: 'a selector of commas', method: 'GET', url: `${services}?labelSelector=${','.repeat(5000)}`, status: 400 },
  { name: 'a bad field selector', method: 'GET', url: `${services}?fieldSelector=a`, status: 400 },
  { name: 'a field of the prototype', method: 'GET', url: `${services}?fieldSelector=constructor=x`, status: 400 },
  { name: 'an invalid limit', method: 'GET', url: `${services}?limit=1e3`, status: 400 },
  { name: 'an invalid revision', method: 'GET', url: `${services}?resourceVersion=-1`, status: 400 },
  {
    name: 'a revision of 100 digits',
    method: 'GET',
    url: `${services}?resourceVersion=${'9'.repeat(100)}`,
    status: 400,
  },
  { name: 'a revision of hexadecimal digits', method: 'GET', url: `${services}/web?resourceVersion=0x1`, status: 400 },
  { name: 'an invalid continue token', method: 'GET', url: `${services}?limit=1&continue=!!`, status: 400 },
  { name: 'a token of null', method: 'GET', url: `${services}?limit=1&continue=${token(null)}`, status: 400 },
  {
    name: 'a token of version 2',
    method: 'GET',
    url: `${services}?limit=1&continue=${token({ v: 'x', rv: 1, start: 'a' })}`,
    status: 400,
  },
  {
    name: 'a continue token with dots',
    method: 'GET',
    url: `${services}?continue=${token({ v, rv: -1, start: '../secrets/' })}`,
    status: 400,
  },
  {
    name: 'a token of revision 0',
    method: 'GET',
    url: `${services}?continue=${token({ v, rv: 0, start: 'a' })}`,
    status: [400, 410],
  },
  {
    name: 'a token of revision 1.5',
    method: 'GET',
    url: `${services}?continue=${token({ v, rv: 1.5, start: 'a' })}`,
    status: 400,
  },
  {
    name: 'a token of another namespace',
    method: 'GET',
    url: `${services}?continue=${token({ v, rv: -1, start: 'zzz/a' })}`,
    status: 200,
  },
  { name: 'a slash in a name', method: 'GET', url: `${services}/a%2fb`, status: [400, 404] },
  {
    name: 'a slash in a namespace',
    method: 'GET',
    url: '/api/v1/namespaces/default%2fservices/services',
    status: [200, 400, 404],
  },
  { name: 'a name with dots', method: 'GET', url: `${services}/..%2f..%2fsecrets`, status: [400, 404] },
  { name: 'two slashes', method: 'GET', url: '//api/v1/services', status: [301, 404] },
  { name: 'half an escape', method: 'GET', url: `${services}/%`, status: [400, 404] },
  { name: 'an escape that is not UTF-8', method: 'GET', url: `${services}/%ff`, status: [400, 404] },
  { name: 'a NUL in a name', method: 'GET', url: `${services}/%00`, status: [400, 404] },
  { name: 'a name of 100,000', method: 'GET', url: `${services}/${'a'.repeat(100_000)}`, status: 404 },
  { name: 'a resource of the prototype', method: 'GET', url: '/api/v1/__proto__', status: 404 },
  { name: 'a group of the prototype', method: 'GET', url: '/apis/constructor/v1/services', status: 404 },
  { name: 'an unknown method', method: 'BREW', url: services, status: 405 },
  { name: 'an invalid timeout', method: 'GET', url: `${services}?timeout=soon`, status: 400 },
  {
    name: 'bad delete options',
    method: 'DELETE',
    url: `${services}/web`,
    body: '{"gracePeriodSeconds":"x"}',
    status: 400,
  },
];

test('rejects bad input with a Status within a short time', async (context) => {
  await using server = await testServer();
  await server.ask('POST', services, { body: { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } } });
  for (const { name, method = 'POST', url, status, ...ask } of cases) {
    await context.test(name, async () => {
      const before = process.cpuUsage();
      const answer = await server.ask(method, url, ask);
      const { user } = process.cpuUsage(before); // not the time, which depends on what else runs here
      assert.ok([status].flat().includes(answer.status), `${answer.status} ${answer.text.slice(0, 300)}`);
      if (answer.body !== undefined && answer.status >= 400) assert.equal(answer.body.code, answer.status);
      assert.ok(user < 2_500_000, `it took ${user} µs`);
    });
  }
  assert.equal((await server.ask('GET', `${services}/web`)).status, 200);
});
