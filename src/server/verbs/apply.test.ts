import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const services = '/api/v1/namespaces/default/services';
const type = 'application/apply-patch+yaml';
const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };

const apply = (server: TestServer, url: string, body: unknown): Promise<Answer> =>
  server.ask('PATCH', `${url}?fieldManager=me`, { type, body });

suite('rejected configurations', () => {
  const notMap = 'into Go value of type map[string]interface {}';
  const typed = 'failed to create typed patch object';
  const table: readonly (readonly [body: unknown, status: number, message: string])[] = [
    ['', 400, 'invalid object type: /, Kind='],
    [
      '[]',
      400,
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array ${notMap}`,
    ],
    [{ kind: 'ConfigMap' }, 400, 'invalid object type: /, Kind=ConfigMap'],
    [{ ...map, kind: 'Secret' }, 400, 'invalid object type: /v1, Kind=Secret'],
    [{ ...map, apiVersion: 'v2' }, 400, 'invalid object type: /v2, Kind=ConfigMap'],
    [{ ...map, apiVersion: 'apps/v1' }, 400, 'invalid object type: apps/v1, Kind=ConfigMap'],
    [{ ...map, apiVersion: 'a/b/c' }, 400, 'invalid object type: /, Kind=ConfigMap'],
    [{ ...map, foo: 1 }, 500, `${typed} (/a; /v1, Kind=ConfigMap): .foo: field not declared in schema`],
    [
      { ...map, metadata: { name: 'b', foo: 1 } },
      500,
      `${typed} (/b; /v1, Kind=ConfigMap): .metadata.foo: field not declared in schema`,
    ],
    [{ ...map, metadata: { name: 'b' } }, 400, 'the name of the object (b) does not match the name on the URL (a)'],
    [
      { ...map, metadata: {} },
      400,
      'the name of the object (a based on URL) was undeterminable: name must be provided',
    ],
    [{ ...map, metadata: { name: 'a', managedFields: [] } }, 400, 'metadata.managedFields must be nil'],
    [
      { ...map, metadata: { name: 'a', namespace: 'other' } },
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      { ...map, metadata: { name: 'a', uid: 'x' } },
      409,
      'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid x, and no existing object was found',
    ],
    [
      { ...map, metadata: { name: 'a', deletionTimestamp: 'x' } },
      500,
      'failed to convert new object (/a; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object to /v1, Kind=ConfigMap: parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ],
  ];
  for (const [body, status, message] of table) {
    test(JSON.stringify(body), async () => {
      await using server = await testServer();
      const answer = await apply(server, `${maps}/a`, body);
      assert.deepEqual([answer.status, answer.body.message], [status, message]);
    });
  }
});

test('a configuration without a name updates an existing object', async () => {
  await using server = await testServer();
  await apply(server, `${maps}/a`, map);
  const { status, body } = await apply(server, `${maps}/a`, { ...map, metadata: {}, data: { k: 'v' } });
  assert.deepEqual([status, body.metadata.name, body.data], [200, 'a', { k: 'v' }]);
});

test('ignores a revision when it creates the object', async () => {
  await using server = await testServer();
  const { status } = await apply(server, `${maps}/a`, { ...map, metadata: { name: 'a', resourceVersion: '5' } });
  assert.equal(status, 201);
});

test('applies a status to an existing object, and creates none where PUT would', async () => {
  await using server = await testServer();
  const created = await apply(server, `${services}/a/status`, { ...map, kind: 'Service' });
  assert.equal(created.body.message, 'Service "a" is invalid: spec.ports: Required value');
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const absent = await apply(server, `${deployments}/a/status`, { ...map, apiVersion: 'apps/v1', kind: 'Deployment' });
  assert.equal(absent.body.message, 'deployments.apps "a" not found');
});
