import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { testServer } from '../testing/server.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const unrecognised = 'the object provided is unrecognized (must be of type ConfigMap): ';
const noType = `${unrecognised}couldn't get version/kind; json parse error: `;
const noStruct = String.raw`into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;
const cannotHandle = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: ';

suite('rejected bodies', () => {
  // The messages of Kubernetes' JSON, YAML and protobuf decoders, word for word.
  const table: readonly (readonly [body: string, message: string, type?: string])[] = [
    ['', `${noType}unexpected end of JSON input (<empty>)`],
    [' ', `${noType}unexpected end of JSON input (20)`],
    ['{', `${noType}unexpected end of JSON input ({)`],
    ['{a:1}', `${noType}invalid character 'a' looking for beginning of object key string ({a:1})`],
    [
      '{"metadata":{"name":"a"}}{"metadata":{"name":"b"}}',
      `${noType}invalid character '{' after top-level value ({"metadata":{"name":"a"}}{"met ...)`,
    ],
    ['5', `${noType}json: cannot unmarshal number ${noStruct} (35)`],
    ['[]', `${noType}json: cannot unmarshal array ${noStruct} (5b5d)`],
    ['{"kind":5}', `${noType}json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})`],
    ['{"apiVersion":"a/b/c"}', `${unrecognised}unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})`],
    [
      '{"apiVersion":"v2"}',
      'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2"',
    ],
    [
      '{"kind":"Secret"}',
      'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    ],
    [
      '{"kind":"ConfigMapList","apiVersion":"v1"}',
      'ConfigMapList in version "v1" cannot be handled as a ConfigMap: converting (v1.ConfigMapList) to (core.ConfigMap): unknown conversion',
    ],
    [
      '{"kind":"Deployment","apiVersion":"apps/v1"}',
      'Deployment in version "v1" cannot be handled as a ConfigMap: converting (v1.Deployment) to (core.ConfigMap): unknown conversion',
    ],
    [
      '{"data":{"x":1}}',
      `${cannotHandle}json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
    ],
    [
      '{"z":1,"data":{"x":"1","x":"2"},"metadata":{"y":1}}',
      `${cannotHandle}strict decoding error: unknown field "z", duplicate field "data.x", unknown field "metadata.y"`,
    ],
    [
      '{"apiVersion":"v1"}',
      `${unrecognised}provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({"apiVersion":"v1"})`,
      'application/vnd.kubernetes.protobuf',
    ],
  ];
  for (const [body, message, type = 'application/json'] of table) {
    test(`${type} ${body}`, async () => {
      await using server = await testServer();
      const answer = await server.ask('POST', `${maps}?fieldValidation=Strict`, { body, type });
      assert.deepEqual([answer.status, answer.body.message], [400, message]);
    });
  }
});

test('rejects an Event of the other API group, although both are stored alike', async () => {
  await using server = await testServer();
  const { body } = await server.ask('POST', '/api/v1/namespaces/default/events', {
    body: { apiVersion: 'events.k8s.io/v1', kind: 'Event', metadata: { name: 'a' } },
  });
  assert.equal(
    body.message,
    'the API version in the data (events.k8s.io/v1) does not match the expected API version (v1)',
  );
});

test('rejects a body with too many values with a 413', async () => {
  await using server = await testServer();
  const data = `{${Array(120_000).fill('"a":""').join(',')}}`;
  const message = 'Request entity too large: the limit is 100000 fields and list items';
  for (const type of ['application/json', 'application/yaml']) {
    const { status, body } = await server.ask('POST', maps, { body: `{"data":${data}}`, type });
    assert.deepEqual([status, body.reason, body.message], [413, 'RequestEntityTooLarge', message]);
  }
  const types = ['merge-patch+json', 'strategic-merge-patch+json', 'json-patch+json', 'apply-patch+yaml'];
  for (const type of types) {
    const { status } = await server.ask('PATCH', `${maps}/a?fieldManager=m`, {
      body: data,
      type: `application/${type}`,
    });
    assert.equal(status, 413, type);
  }
  assert.equal((await server.ask('DELETE', `${maps}/a`, { body: data })).status, 413);
});

test('lists the first 100 unknown and duplicate fields', async () => {
  await using server = await testServer();
  const fields = Array.from({ length: 300 }, (_, index) => `"u${index}":1`).join(',');
  const { body } = await server.ask('POST', `${maps}?fieldValidation=Strict`, {
    body: `{"metadata":{"name":"a","name":"b"},${fields},${fields}}`,
  });
  const problems = body.message.split('strict decoding error: ')[1].split(', ');
  assert.equal(problems.length, 100);
  assert.deepEqual([problems[0], problems[99]], ['duplicate field "metadata.name"', 'unknown field "u98"']);
});

suite('owners', () => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' };
  const start = '299 - ".metadata.ownerReferences contains duplicate entries';
  const end =
    '; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u"';
  const metadata = { name: 'a', ownerReferences: [owner, owner] };

  test('are deduplicated with a warning', async () => {
    await using server = await testServer();
    for (const [method, url] of [
      ['POST', maps],
      ['PUT', `${maps}/a`],
    ] as const) {
      const { body, warnings } = await server.ask(method, url, { body: { metadata } });
      assert.equal(body.metadata.ownerReferences.length, 1);
      assert.deepEqual(warnings, [`${start}${end}`]);
    }
    const patched = await server.ask('PATCH', `${maps}/a`, {
      type: 'application/merge-patch+json',
      body: { metadata },
    });
    assert.deepEqual(patched.warnings, [`${start} after mutating admission happens${end}`]);
  });

  test('with an invalid version are rejected', async () => {
    await using server = await testServer();
    const { body } = await server.ask('POST', maps, {
      body: { metadata: { name: 'a', ownerReferences: [{ ...owner, apiVersion: 'a/b/c' }] } },
    });
    assert.equal(
      body.message,
      'ConfigMap "a" is invalid: metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
    );
  });
});

test('an empty list of managers clears them', async () => {
  await using server = await testServer();
  await server.ask('POST', maps, { body: { metadata: { name: 'a' }, data: { k: 'v' } } });
  const body = { metadata: { name: 'a', managedFields: [] }, data: { k: 'v' } };
  const put = await server.ask('PUT', `${maps}/a`, { body });
  assert.equal(put.body.metadata.managedFields, undefined);
});

test('decodes a large YAML body like a small one', async () => {
  await using server = await testServer();
  const text = 'x'.repeat(100_000);
  const yaml = `metadata:\n  name: large\n  unknown: 1\ndata:\n  a: |\n    ${text}\n  b: "1"\n  b: "2"\n`;
  const created = await server.ask('POST', maps, { body: yaml, type: 'application/yaml' });
  assert.equal(created.status, 201);
  assert.deepEqual(created.body.data, { a: `${text}\n`, b: '2' });
  assert.deepEqual(created.warnings, [
    '299 - "duplicate field \\"data.b\\""',
    '299 - "unknown field \\"metadata.unknown\\""',
  ]);
  const applied = await server.ask('PATCH', `${maps}/applied?fieldManager=m`, {
    body: `apiVersion: v1\nkind: ConfigMap\n${yaml.replace('name: large', 'name: applied').replace('  unknown: 1\n', '')}`,
    type: 'application/apply-patch+yaml',
  });
  assert.deepEqual([applied.status, applied.body.data], [201, { a: `${text}\n`, b: '2' }]);
  const broken = await server.ask('POST', maps, { body: `${yaml}  c: [\n`, type: 'application/yaml' });
  assert.equal(broken.status, 400);
  assert.match(broken.body.message, /unrecognized \(must be of type ConfigMap\): yaml: line \d+: /);
});
