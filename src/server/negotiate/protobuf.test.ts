import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { selfSubjectReviewKind } from '../../api/kinds/authentication/selfsubjectreview/kind.ts';
import { eventsEventKind } from '../../api/kinds/events/event/kind.ts';
import { decodeEnvelope, decodeProtobuf } from '../../api/schema/protobuf.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import { always, list, optional, struct } from '../../api/schema/schema.ts';
import { WireReader } from '../../api/schema/wire.ts';
import { listMeta, partialObjectMetadata, statusSchema } from '../openapi/meta-schemas.ts';
import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const accept = 'application/vnd.kubernetes.protobuf,application/json';
const metadataAccept = (as: string): string =>
  `application/vnd.kubernetes.protobuf;as=${as};g=meta.k8s.io;v=v1,application/json;as=${as};g=meta.k8s.io;v=v1,application/json`;
const configMaps = '/api/v1/namespaces/shop/configmaps';

let server: TestServer;
before(async () => {
  server = await testServer();
  await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'shop' } } });
  for (const name of ['a', 'b', 'c'])
    await server.ask('POST', configMaps, { body: { metadata: { name, labels: { app: 'x' } }, data: { k: 'vü' } } });
});
after(() => server[Symbol.asyncDispose]());

interface Raw {
  readonly status: number;
  readonly type: string;
  readonly bytes: Buffer;
}

async function ask(method: string, url: string, wanted = accept, body?: object): Promise<Raw> {
  const headers: Record<string, string> = { accept: wanted, 'content-type': 'application/json' };
  const reply = await server.handle({
    method,
    url,
    header: (name) => headers[name],
    body: async () => Buffer.from(JSON.stringify(body ?? {})),
    user: { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] },
  });
  assert.ok('body' in reply);
  const parts = typeof reply.body === 'string' || Buffer.isBuffer(reply.body) ? [reply.body] : [...reply.body];
  return {
    status: reply.status,
    type: String(reply.headers['Content-Type']),
    bytes: Buffer.concat(parts.map((part) => Buffer.from(part))),
  };
}

/** An object as JSON would have it, from its envelope. */
function objectIn(bytes: Uint8Array, schema: StructSchema): object {
  const { apiVersion, kind, raw } = decodeEnvelope(bytes);
  return { kind, apiVersion, ...decodeProtobuf(schema, raw) };
}

const listOf = (items: StructSchema): StructSchema =>
  struct('List', '', { metadata: always(1, listMeta, ''), items: optional(2, list(items), '') });

suite('protobuf', () => {
  test('of an object equals its JSON', async () => {
    const { status, type, bytes } = await ask('GET', `${configMaps}/a`);
    assert.equal(status, 200);
    assert.equal(type, 'application/vnd.kubernetes.protobuf');
    assert.deepEqual(objectIn(bytes, configMapKind.schema), (await server.ask('GET', `${configMaps}/a`)).body);
  });

  test('of a written object equals its JSON', async () => {
    const body = { metadata: { name: 'web' }, spec: { ports: [{ port: 80, targetPort: 'http' }] } };
    const { status, bytes } = await ask('POST', '/api/v1/namespaces/shop/services', accept, body);
    assert.equal(status, 201);
    const stored = (await server.ask('GET', '/api/v1/namespaces/shop/services/web')).body;
    assert.deepEqual(objectIn(bytes, serviceKind.schema), stored);
  });

  test('of a view has the view’s version', async () => {
    const { body } = await server.ask('POST', '/api/v1/namespaces/shop/events', {
      body: {
        metadata: { name: 'e', namespace: 'shop' },
        involvedObject: { kind: 'ConfigMap', name: 'a', namespace: 'shop' },
        reason: 'Tested',
        message: 'text',
      },
    });
    assert.equal(body.reason, 'Tested');
    const { bytes } = await ask('GET', '/apis/events.k8s.io/v1/namespaces/shop/events/e');
    const event = objectIn(bytes, eventsEventKind.schema) as { readonly apiVersion: string; readonly note: string };
    assert.equal(event.apiVersion, 'events.k8s.io/v1');
    assert.equal(event.note, 'text');
  });

  for (const limit of [0, 2]) {
    test(`of a list with limit ${limit} equals its JSON`, async () => {
      const url = `${configMaps}?labelSelector=app%3Dx&limit=${limit}`;
      const { bytes } = await ask('GET', url);
      const { body } = await server.ask('GET', url);
      assert.deepEqual(objectIn(bytes, listOf(configMapKind.schema)), body);
    });
  }

  test('of metadata', async () => {
    const one = await ask('GET', `${configMaps}/a`, metadataAccept('PartialObjectMetadata'));
    const { metadata } = (await server.ask('GET', `${configMaps}/a`)).body;
    assert.deepEqual(objectIn(one.bytes, partialObjectMetadata), {
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
    });
    const url = `${configMaps}?labelSelector=app%3Dx`;
    const all = await ask('GET', url, metadataAccept('PartialObjectMetadataList'));
    const listed = objectIn(all.bytes, listOf(partialObjectMetadata)) as {
      readonly kind: string;
      readonly items: readonly unknown[];
    };
    assert.equal(listed.kind, 'PartialObjectMetadataList');
    assert.deepEqual(listed.items[0], { metadata });
  });

  test('of a Status, for failures and for deletions', async () => {
    const { status, type, bytes } = await ask('GET', `${configMaps}/none`);
    assert.equal(status, 404);
    assert.equal(type, 'application/vnd.kubernetes.protobuf');
    assert.deepEqual(objectIn(bytes, statusSchema), (await server.ask('GET', `${configMaps}/none`)).body);
    const removed = await ask('DELETE', `${configMaps}/c?dryRun=All`);
    assert.equal((objectIn(removed.bytes, statusSchema) as { readonly status: string }).status, 'Success');
    // As in Kubernetes, a failure of a request for metadata is encoded by the first clause without a transformation.
    const partial = await ask('GET', `${configMaps}/none`, metadataAccept('PartialObjectMetadata'));
    assert.equal(partial.type, 'application/json');
  });

  test('of a review', async () => {
    const { status, bytes } = await ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews');
    assert.equal(status, 201);
    const review = objectIn(bytes, selfSubjectReviewKind.schema) as {
      readonly status: { readonly userInfo: { readonly username: string } };
    };
    assert.equal(review.status.userInfo.username, 'admin');
  });

  test('is not available for custom resources, tables and documents', async () => {
    const exports = '/apis/multicluster.x-k8s.io/v1beta1/namespaces/shop/serviceexports';
    assert.equal((await ask('GET', exports)).type, 'application/json');
    assert.equal((await ask('GET', exports, 'application/vnd.kubernetes.protobuf')).status, 406);
    const metadata = metadataAccept('PartialObjectMetadataList');
    assert.equal((await ask('GET', exports, metadata)).type, 'application/vnd.kubernetes.protobuf');
    const table = 'application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1';
    assert.equal((await ask('GET', configMaps, table)).status, 406);
    assert.equal((await ask('GET', '/version')).type, 'application/json');
    assert.equal((await ask('GET', '/apis')).type, 'application/json');
  });
});

interface Frame {
  readonly type: string;
  readonly object: object;
}

/** Splits a stream into its length-delimited events. */
function* framesIn(stream: Buffer, schema: StructSchema): Generator<Frame> {
  for (let at = 0; at < stream.length;) {
    const length = stream.readUInt32BE(at);
    const event = new WireReader(stream, at + 4, at + 4 + length);
    assert.equal(event.tag(), 0x0a);
    const type = event.string();
    assert.equal(event.tag(), 0x12);
    const extension = event.message();
    assert.equal(extension.tag(), 0x0a);
    yield { type, object: objectIn(extension.bytes(), type === 'ERROR' ? statusSchema : schema) };
    at += 4 + length;
  }
}

/** Opens a watch and returns its events so far. */
async function watch(
  url: string,
  wanted = accept,
  schema: StructSchema = configMapKind.schema,
): Promise<() => Frame[]> {
  const reply = await server.handle({
    method: 'GET',
    url,
    header: (name) => (name === 'accept' ? wanted : undefined),
    body: async () => Buffer.alloc(0),
    user: { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] },
  });
  assert.ok('stream' in reply);
  assert.equal(reply.headers['Content-Type'], 'application/vnd.kubernetes.protobuf;stream=watch');
  const chunks: Buffer[] = [];
  reply.stream({
    write: (chunk) => chunks.push(Buffer.from(chunk)) > 0,
    onDrain: () => undefined,
    onClose: (listener) => after(listener),
    end: () => undefined,
    abort: () => undefined,
  });
  return () => [...framesIn(Buffer.concat(chunks), schema)];
}

suite('a watch in protobuf', () => {
  test('sends the initial objects, the bookmark after them, and changes', async () => {
    const url = `${configMaps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
    const frames = await watch(`${url}&fieldSelector=metadata.name%3Da`);
    await until('the initial objects', () => frames().length === 2);
    const [added, bookmark] = frames();
    assert.equal(added?.type, 'ADDED');
    assert.deepEqual(added.object, (await server.ask('GET', `${configMaps}/a`)).body);
    assert.equal(bookmark?.type, 'BOOKMARK');
    const { kind, metadata } = bookmark.object as {
      readonly kind: string;
      readonly metadata: { readonly annotations: object };
    };
    assert.equal(kind, 'ConfigMap');
    assert.deepEqual(metadata.annotations, { 'k8s.io/initial-events-end': 'true' });
    const type = 'application/merge-patch+json';
    await server.ask('PATCH', `${configMaps}/a`, { type, body: { data: { k: 'w' } } });
    await until('the change', () => frames().length === 3);
    assert.equal(frames()[2]?.type, 'MODIFIED');
    assert.deepEqual(frames()[2]?.object, (await server.ask('GET', `${configMaps}/a`)).body);
  });

  test('sends metadata', async () => {
    const url = `${configMaps}?watch=1&fieldSelector=metadata.name%3Db`;
    const frames = await watch(url, metadataAccept('PartialObjectMetadata'), partialObjectMetadata);
    await until('the object', () => frames().length === 1);
    const [added] = frames();
    assert.ok(added !== undefined);
    assert.equal((added.object as { readonly kind: string }).kind, 'PartialObjectMetadata');
  });

  test('reports an expired revision', async () => {
    const small = await testServer({ cache: { limits: { maxEvents: 1, maxBytes: 1, maxAgeMs: 1 } } });
    const previous = server;
    server = small;
    for (const name of ['x', 'y', 'z'])
      await small.ask('POST', '/api/v1/namespaces/default/configmaps', { body: { metadata: { name } } });
    const frames = await watch('/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=1');
    await until('the error', () => frames().length === 1);
    server = previous;
    const [expired] = frames();
    assert.ok(expired !== undefined);
    assert.equal((expired.object as { readonly code: number }).code, 410);
    await small[Symbol.asyncDispose]();
  });
});

test('a list that is encoded in pieces equals its JSON', async () => {
  const url = '/api/v1/namespaces/large/configmaps';
  await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'large' } } });
  const data = { text: 'ä'.repeat(100_000) };
  for (let index = 0; index < 20; index++)
    await server.ask('POST', url, { body: { metadata: { name: `n${index}` }, data } });
  const { bytes } = await ask('GET', `${url}?limit=100`);
  assert.ok(bytes.length > 1 << 20);
  assert.deepEqual(objectIn(bytes, listOf(configMapKind.schema)), (await server.ask('GET', `${url}?limit=100`)).body);
});
