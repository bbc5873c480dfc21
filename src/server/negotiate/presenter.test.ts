import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const accept = {
  table: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  metadata: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  metadataList: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
};
const configMaps = '/api/v1/namespaces/shop/configmaps';

let server: TestServer;
let revision: string;
before(async () => {
  server = await testServer();
  await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'shop' } } });
  const { body } = await server.ask('POST', configMaps, { body: { metadata: { name: 'a' }, data: { k: 'v' } } });
  revision = body.metadata.resourceVersion;
});
after(() => server[Symbol.asyncDispose]());

const listUrl = `${configMaps}?fieldSelector=metadata.name%3Da`;

suite('Table', () => {
  test('of one object has its revision, the columns, and the metadata in the row', async () => {
    const { body } = await server.ask('GET', `${configMaps}/a`, { accept: accept.table });
    assert.equal(body.kind, 'Table');
    assert.equal(body.apiVersion, 'meta.k8s.io/v1');
    assert.deepEqual(body.metadata, { resourceVersion: revision });
    assert.deepEqual(
      body.columnDefinitions.map((column: { name: string; format: string }) => `${column.name}:${column.format}`),
      ['Name:name', 'Data:', 'Age:'],
    );
    assert.equal(body.rows.length, 1);
    assert.deepEqual(body.rows[0].cells.slice(0, 2), ['a', 1]);
    assert.equal(body.rows[0].object.kind, 'PartialObjectMetadata');
    assert.equal(body.rows[0].object.apiVersion, 'meta.k8s.io/v1');
    assert.equal(body.rows[0].object.metadata.name, 'a');
    assert.equal(body.rows[0].object.data, undefined);
  });

  const table: readonly [includeObject: string, kind: string | undefined][] = [
    ['', 'PartialObjectMetadata'],
    ['Metadata', 'PartialObjectMetadata'],
    ['Object', 'ConfigMap'],
    ['None', undefined],
  ];
  for (const [includeObject, kind] of table) {
    test(`with includeObject=${includeObject}`, async () => {
      const { body } = await server.ask('GET', `${listUrl}&includeObject=${includeObject}`, { accept: accept.table });
      assert.equal(body.rows[0].object?.kind, kind);
    });
  }

  test('returns a 400 for an unknown includeObject', async () => {
    const { status, body } = await server.ask('GET', `${listUrl}&includeObject=All`, { accept: accept.table });
    assert.equal(status, 400);
    assert.match(body.message, /includeObject: Invalid value: "All": must be 'Metadata', 'Object', 'None', or empty$/);
  });

  test('of an empty list has an empty list of rows', async () => {
    const { body } = await server.ask('GET', '/api/v1/nodes', { accept: accept.table });
    assert.deepEqual(body.rows, []);
  });

  test('of a page has the continue token', async () => {
    const { body } = await server.ask('GET', `${configMaps}?limit=1`, { accept: accept.table });
    assert.equal(typeof body.metadata.continue, 'string');
    assert.equal(body.metadata.remainingItemCount, 1);
  });

  test('is returned for writes, and without a revision for a dry run', async () => {
    const created = await server.ask('POST', `${configMaps}?dryRun=All`, {
      body: { metadata: { name: 'dry' } },
      accept: accept.table,
    });
    assert.equal(created.status, 201);
    assert.deepEqual(created.body.metadata, {});
    assert.equal(created.body.rows[0].object.metadata.resourceVersion, undefined);
  });

  test('is not used for a Status', async () => {
    const { body } = await server.ask('DELETE', `${configMaps}/a?dryRun=All`, { accept: accept.table });
    assert.equal(body.kind, 'Status');
    const missing = await server.ask('GET', `${configMaps}/none`, { accept: accept.table });
    assert.equal(missing.body.kind, 'Status');
  });

  test('has the row condition of a completed Pod', async () => {
    const pods = '/api/v1/namespaces/shop/pods';
    await server.ask('POST', pods, {
      body: { metadata: { name: 'done' }, spec: { containers: [{ name: 'a', image: 'a' }] } },
    });
    await server.ask('PATCH', `${pods}/done/status`, {
      type: 'application/merge-patch+json',
      body: { status: { phase: 'Succeeded' } },
    });
    const { body } = await server.ask('GET', `${pods}/done`, { accept: accept.table });
    assert.equal(body.rows[0].conditions[0].type, 'Completed');
    assert.equal(body.rows[0].conditions[0].reason, 'Succeeded');
  });
});

suite('PartialObjectMetadata', () => {
  test('of one object', async () => {
    const { body } = await server.ask('GET', `${configMaps}/a`, { accept: accept.metadata });
    assert.deepEqual(Object.keys(body), ['kind', 'apiVersion', 'metadata']);
    assert.equal(body.kind, 'PartialObjectMetadata');
    assert.equal(body.metadata.resourceVersion, revision);
  });

  test('of a list has the kind in its items', async () => {
    const { body } = await server.ask('GET', listUrl, { accept: accept.metadataList });
    assert.equal(body.kind, 'PartialObjectMetadataList');
    assert.equal(body.apiVersion, 'meta.k8s.io/v1');
    assert.equal(body.items[0].kind, 'PartialObjectMetadata');
    assert.equal(body.items[0].data, undefined);
  });

  test('is not accepted for a list', async () => {
    assert.equal((await server.ask('GET', listUrl, { accept: accept.metadata })).status, 406);
    assert.equal((await server.ask('GET', `${configMaps}/a`, { accept: accept.metadataList })).status, 406);
  });

  test('has no revision in a dry run', async () => {
    const { body } = await server.ask('POST', `${configMaps}?dryRun=All`, {
      body: { metadata: { name: 'dry' } },
      accept: accept.metadata,
    });
    assert.equal(body.metadata.resourceVersion, undefined);
    assert.equal(typeof body.metadata.uid, 'string');
  });
});

test('items of built-in lists have no kind, those of custom lists do', async () => {
  const services = await server.ask('GET', '/api/v1/services');
  assert.equal(services.body.kind, 'ServiceList');
  assert.equal(services.body.items[0].kind, undefined);
  await server.ask('POST', '/apis/multicluster.x-k8s.io/v1beta1/namespaces/shop/serviceexports', {
    body: { apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport', metadata: { name: 'web' } },
  });
  for (const version of ['v1beta1', 'v1alpha1']) {
    const { body } = await server.ask('GET', `/apis/multicluster.x-k8s.io/${version}/serviceexports`);
    assert.deepEqual(
      [body.apiVersion, body.items[0].kind, body.items[0].apiVersion],
      [`multicluster.x-k8s.io/${version}`, 'ServiceExport', `multicluster.x-k8s.io/${version}`],
    );
  }
});

test('returns YAML to clients that accept it', async () => {
  const { headers, text } = await server.ask('GET', `${configMaps}/a`, { accept: 'application/yaml' });
  assert.equal(headers['Content-Type'], 'application/yaml');
  assert.match(text, /^kind: ConfigMap$/m);
  assert.match(text, /^ {2}name: a$/m);
});

suite('a kind with two versions', () => {
  const core = '/api/v1/namespaces/shop/events';
  const renamed = '/apis/events.k8s.io/v1/namespaces/shop/events';
  const event = {
    metadata: { name: 'e' },
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'shop' },
    message: 'Stopped',
    reason: 'Killing',
    type: 'Normal',
  };

  test('is read, listed, selected and watched in both', async () => {
    await server.ask('POST', core, { body: event });
    const one = (await server.ask('GET', `${core}/e`)).body;
    const other = (await server.ask('GET', `${renamed}/e`)).body;
    assert.equal(one.message, 'Stopped');
    assert.equal(other.note, 'Stopped');
    assert.equal(other.apiVersion, 'events.k8s.io/v1');
    assert.equal(other.metadata.resourceVersion, one.metadata.resourceVersion);
    const { body } = await server.ask('GET', `${renamed}?fieldSelector=regarding.name%3Dp`);
    assert.equal(body.kind, 'EventList');
    assert.equal(body.items[0].note, 'Stopped');
    assert.equal(body.items[0].kind, undefined);
    const watch = await server.watch(`${renamed}?watch=1`);
    const [added] = await watch.take(1);
    assert.equal(added?.object.note, 'Stopped');
    assert.equal(added?.object.kind, 'Event');
    watch.close();
  });

  test('is not changed by sending back what was read', async () => {
    const { body } = await server.ask('GET', `${renamed}/e`);
    const again = await server.ask('PUT', `${renamed}/e`, { body });
    assert.equal(again.status, 200, again.text);
    assert.equal(again.body.metadata.resourceVersion, body.metadata.resourceVersion);
  });

  test('has no revision in a dry run', async () => {
    const { status, body } = await server.ask('POST', `${renamed}?dryRun=All`, {
      body: {
        metadata: { name: 'dry' },
        eventTime: '2026-01-01T00:00:00.000000Z',
        reportingController: 'example.org/c',
        reportingInstance: 'i',
        action: 'a',
        reason: 'r',
        type: 'Normal',
        regarding: { kind: 'Pod', name: 'p', namespace: 'shop' },
      },
    });
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal(body.metadata.resourceVersion, undefined);
  });
});
