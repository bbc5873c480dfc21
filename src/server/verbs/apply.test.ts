import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { ApiObject } from '../../api/metadata.ts';
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

suite('a manager that wrote another version of a custom resource', () => {
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const group = 'stable.example.com';
  const at = (version: string): string => `/apis/${group}/${version}/namespaces/default/widgets`;
  const widget = (version: string, spec: object): object => ({
    apiVersion: `${group}/${version}`,
    kind: 'Widget',
    metadata: { name: 'a' },
    spec,
  });
  const version = (name: string, fields: object, options: object): object => ({
    name,
    schema: {
      openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: fields } } },
    },
    ...options,
  });
  const text = { type: 'string' };
  const size = { size: text };
  const withDefault = { ...size, color: { ...text, default: 'red' } };
  const only = [version('v1beta1', size, { served: true, storage: true })];
  const both = (served: boolean, v1: object = withDefault): readonly object[] => [
    version('v1beta1', size, { served, storage: false }),
    version('v1', v1, { served: true, storage: true }),
  ];
  const definition = (versions: readonly object[]): object => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: { group, scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' }, versions },
  });
  const define = async (server: TestServer, versions: readonly object[]): Promise<void> => {
    const { status } = await apply(server, `${crds}/widgets.${group}`, definition(versions));
    assert.ok(status < 300);
    await server.context.resources.settled();
  };
  const undeclared = '.spec.color: field not declared in schema';

  for (const served of [true, false]) {
    test(`fails if that version lacks a field with a default and is ${served ? '' : 'not '}served`, async () => {
      await using server = await testServer();
      await define(server, only);
      assert.equal((await apply(server, `${at('v1beta1')}/a`, widget('v1beta1', { size: 'S' }))).status, 201);
      await define(server, both(served));
      const { status, body } = await apply(server, `${at('v1')}/a`, widget('v1', { size: 'S' }));
      assert.deepEqual([status, body.message], [500, undeclared]);
    });
  }

  test('fails for another manager too, and not once its entry has the version of the object', async () => {
    await using server = await testServer();
    await define(server, only);
    assert.equal((await apply(server, `${at('v1beta1')}/a`, widget('v1beta1', { size: 'S' }))).status, 201);
    await define(server, both(true));
    const other = `${at('v1')}/a?fieldManager=other&force=true`;
    const refused = await server.ask('PATCH', other, { type, body: widget('v1', { size: 'L' }) });
    assert.deepEqual([refused.status, refused.body.message], [500, undeclared]);
    const body = [{ op: 'replace', path: '/metadata/managedFields/0/apiVersion', value: `${group}/v1` }];
    const migrated = await server.ask('PATCH', `${at('v1')}/a`, { type: 'application/json-patch+json', body });
    assert.equal(migrated.status, 200);
    const applied = await server.ask('PATCH', other, { type, body: widget('v1', { size: 'L' }) });
    assert.deepEqual([applied.status, applied.body.spec], [200, { size: 'L', color: 'red' }]);
  });

  test('does not matter if the object is valid in both versions', async () => {
    await using server = await testServer();
    await define(server, only);
    assert.equal((await apply(server, `${at('v1beta1')}/a`, widget('v1beta1', { size: 'S' }))).status, 201);
    await define(server, both(true, size));
    const { status, body } = await apply(server, `${at('v1')}/a`, widget('v1', { size: 'L' }));
    assert.deepEqual([status, body.spec], [200, { size: 'L' }]);
    assert.deepEqual(
      (body as ApiObject).metadata.managedFields?.map(({ apiVersion }) => apiVersion),
      [`${group}/v1`],
    );
  });
});
