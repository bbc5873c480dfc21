import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const types = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

async function patched(server: TestServer, type: keyof typeof types, body: unknown, query = ''): Promise<Answer> {
  await server.ask('POST', maps, { body: { metadata: { name: 'a' }, data: { k: 'v' } } });
  return server.ask('PATCH', `${maps}/a${query}`, { type: types[type], body });
}

suite('rejected patches', () => {
  const rename = 'the name of the object (b) does not match the name on the URL (a)';
  const noName = 'the name of the object (a based on URL) was undeterminable: name must be provided';
  const moved = 'the namespace of the provided object does not match the namespace sent on the request';
  const noMap = 'into Go value of type map[string]interface {}';
  const table: readonly (readonly [type: keyof typeof types, body: unknown, status: number, message: string])[] = [
    ['json', '{', 400, 'error decoding patch: unexpected end of JSON input'],
    ['merge', '{', 400, 'error decoding patch: unexpected end of JSON input'],
    ['strategic', '{', 400, 'unexpected end of JSON input'],
    [
      'json',
      '5',
      400,
      'error decoding patch: json: cannot unmarshal number into Go value of type []handlers.jsonPatchOp',
    ],
    ['merge', '5', 400, `error decoding patch: json: cannot unmarshal number ${noMap}`],
    ['strategic', '5', 400, `json: cannot unmarshal number ${noMap}`],
    ['merge', 'null', 400, 'Invalid JSON Patch'],
    ['merge', { metadata: { name: 'b' } }, 400, rename],
    ['strategic', { metadata: { name: 'b' } }, 400, rename],
    ['merge', { metadata: null }, 400, noName],
    ['merge', { metadata: { namespace: 'other' } }, 400, moved],
    [
      'merge',
      { metadata: { uid: 'x' } },
      422,
      'ConfigMap "a" is invalid: metadata.uid: Invalid value: "x": field is immutable',
    ],
    [
      'strategic',
      { data: { x: { y: 1 } } },
      422,
      ' "" is invalid: patch: Invalid value: "map[data:map[x:map[y:1]]]": unrecognized type: string',
    ],
  ];
  for (const [type, body, status, message] of table) {
    test(`${type} ${JSON.stringify(body)}`, async () => {
      await using server = await testServer();
      const answer = await patched(server, type, body);
      assert.deepEqual([answer.status, answer.body.message], [status, message]);
    });
  }

  test('with an invalid result, which the message quotes', async () => {
    await using server = await testServer();
    const { status, body } = await patched(server, 'merge', { data: { x: 1 } });
    assert.equal(status, 422);
    assert.deepEqual(Object.keys(body.details), ['causes']);
    assert.match(
      body.message,
      /^ "" is invalid: patch: Invalid value: "\{.*\\"x\\":1.*\}": json: cannot unmarshal number/,
    );
  });

  test('with an unsupported type', async () => {
    await using server = await testServer();
    const plain = await server.ask('PATCH', `${maps}/a`, { type: 'text/plain', body: '{}' });
    assert.deepEqual([plain.status, plain.body.message], [415, '415: Unsupported Media Type']);
    const exports = '/apis/multicluster.x-k8s.io/v1beta1/namespaces/default/serviceexports';
    const custom = await server.ask('PATCH', `${exports}/a`, { type: types.strategic, body: {} });
    assert.equal(
      custom.body.message,
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    );
  });
});

suite('patches without effect', () => {
  const table: readonly (readonly [type: keyof typeof types, body: unknown])[] = [
    ['json', 'null'],
    ['json', []],
    ['strategic', 'null'],
    ['strategic', { kind: 'Secret', apiVersion: 'v9' }],
    ['merge', { metadata: { namespace: null } }],
    ['merge', { metadata: { resourceVersion: '0' } }],
  ];
  for (const [type, body] of table) {
    test(`${type} ${JSON.stringify(body)}`, async () => {
      await using server = await testServer();
      const { status, body: object } = await patched(server, type, body);
      assert.deepEqual([status, object.kind, object.metadata.namespace], [200, 'ConfigMap', 'default']);
    });
  }
});

suite('unknown fields of a patch', () => {
  const operations = '[{"op":"add","path":"/spec","value":1,"op":"add"},{"op":"add","path":"/more","value":1,"zz":1}]';
  const problems = [
    'json patch duplicate field "[0].op"',
    'json patch unknown field "[1].zz"',
    'unknown field "more"',
    'unknown field "spec"',
  ];

  test('are warnings', async () => {
    await using server = await testServer();
    const { warnings } = await patched(server, 'json', operations);
    assert.deepEqual(
      warnings.toSorted(),
      problems.map((problem) => `299 - ${JSON.stringify(problem)}`),
    );
  });

  test('are rejected by fieldValidation=Strict', async () => {
    await using server = await testServer();
    const { status, body } = await patched(
      server,
      'strategic',
      '{"data":{"k":"1","k":"2"},"spec":1}',
      '?fieldValidation=Strict',
    );
    assert.equal(status, 422);
    assert.equal(
      body.message,
      ' "" is invalid: patch: Invalid value: "map[data:map[k:2] spec:1]": strict decoding error: duplicate field "data.k", unknown field "spec"',
    );
  });
});
