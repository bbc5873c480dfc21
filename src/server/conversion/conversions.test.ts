import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Answer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';
import type { Responder, ReviewRequest } from '../webhooks/testing/webhook.ts';
import { startWebhook } from '../webhooks/testing/webhook.ts';
import {
  answers,
  converted,
  crds,
  definition,
  group,
  install,
  made,
  name,
  url,
  v1,
  v2,
  versions,
  withHosts,
} from './testing/hosts.ts';

test('objects are read, listed and written in every version, and each is converted once', () =>
  withHosts(answers, async (server, webhook) => {
    await made(server, 'v1', v1('a'));
    assert.equal(webhook.requests.length, 0, 'the storage version needs no conversion');
    const { body } = await server.ask('GET', url('v2', '/a'));
    assert.deepEqual([body.apiVersion, body.spec], [`${group}/v2`, { host: 'a', port: '80' }]);
    assert.deepEqual(body.metadata.labels, { seen: 'v2' }, 'a webhook may change labels');
    assert.match(body.metadata.resourceVersion, /^\d+$/);
    assert.equal(webhook.requests.at(-1).url, '/check?timeout=30s');
    for (let read = 0; read < 3; read++) await server.ask('GET', url('v2', '/a'));
    assert.equal(webhook.requests.length, 1);

    const written = await made(server, 'v2', v2('b'));
    assert.deepEqual(written.spec, { host: 'b', port: '80' });
    assert.deepEqual((await server.ask('GET', url('v1', '/b'))).body.spec, { address: 'b:80' });

    await made(server, 'v1', v1('c'));
    const before = webhook.requests.length;
    const list = await server.ask('GET', url('v2'));
    assert.deepEqual(
      list.body.items.map(({ apiVersion, spec }: ReviewRequest) => `${apiVersion} ${spec.host}`),
      ['a', 'b', 'c'].map((host) => `${group}/v2 ${host}`),
    );
    assert.equal(webhook.requests.length, before + 1, 'one call for what was not converted yet');
    assert.deepEqual(
      webhook.requests.at(-1).objects.map(({ metadata }: ReviewRequest) => metadata.name),
      ['c'],
    );
  }));

test('selectors, tables, the scale, patches and deletions use the requested version', () =>
  withHosts(answers, async (server) => {
    for (const host of ['a', 'b']) await made(server, 'v1', v1(host));
    const selected = await server.ask('GET', `${url('v2')}?fieldSelector=spec.host%3Db`);
    assert.deepEqual(
      selected.body.items.map(({ metadata }: ReviewRequest) => metadata.name),
      ['b'],
    );
    const labelled = await server.ask('GET', `${url('v2')}?labelSelector=seen%3Dv2`);
    assert.equal(labelled.body.items.length, 2);
    const table = await server.ask('GET', url('v2'), { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    assert.deepEqual(
      table.body.rows.map(({ cells }: ReviewRequest) => cells),
      [
        ['a', 'a'],
        ['b', 'b'],
      ],
    );
    const patched = await server.ask('PATCH', url('v2', '/a'), {
      type: 'application/merge-patch+json',
      body: { spec: { port: '81' } },
    });
    assert.deepEqual([patched.status, patched.body.spec], [200, { host: 'a', port: '81' }]);
    assert.deepEqual((await server.ask('GET', url('v1', '/a'))).body.spec, { address: 'a:81' });
    const scaled = await server.ask('PATCH', url('v2', '/a/scale'), {
      type: 'application/merge-patch+json',
      body: { spec: { replicas: 3 } },
    });
    assert.deepEqual([scaled.status, scaled.body.spec], [200, { replicas: 3 }]);
    assert.deepEqual((await server.ask('GET', url('v1', '/a'))).body.spec, { address: 'a:81', replicas: 3 });
    assert.equal((await server.ask('DELETE', url('v2', '/a'))).status, 200);
    assert.equal((await server.ask('DELETE', url('v2'))).body.items.length, 1);
  }));

test('a watch delivers converted objects in the order of their changes', () =>
  withHosts(answers, async (server) => {
    await made(server, 'v1', v1('a'));
    const watch = await server.watch(`${url('v2')}?watch=true`);
    await watch.take(1);
    await made(server, 'v1', v1('b'));
    await made(server, 'v2', v2('c'));
    await server.ask('DELETE', url('v1', '/a'));
    const events = await watch.take(4);
    assert.deepEqual(
      events.map(({ type, object }) => `${type} ${object.apiVersion} ${object.spec.host}`),
      ['ADDED a', 'ADDED b', 'ADDED c', 'DELETED a'].map((event) => event.replace(' ', ` ${group}/v2 `)),
    );
    const resumed = await server.watch(
      `${url('v2')}?watch=true&resourceVersion=${events[0]?.object.metadata.resourceVersion}`,
    );
    assert.deepEqual(
      (await resumed.take(3)).map(({ type, object }) => `${type} ${object.spec.host}`),
      ['ADDED b', 'ADDED c', 'DELETED a'],
    );
    for (const each of [watch, resumed]) each.close();
  }));

test('a bookmark follows the changes that are still converted', async () => {
  let release = (): void => undefined;
  let isHeld = false;
  const respond: Responder = async (request) => {
    if (isHeld) await new Promise<void>((resolve) => (release = resolve));
    return answers(request);
  };
  await withHosts(respond, async (server) => {
    await made(server, 'v1', v1('a'));
    const watch = await server.watch(
      `${url('v2')}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
    );
    const [, bookmark] = await watch.take(2);
    assert.equal(bookmark?.type, 'BOOKMARK');
    isHeld = true;
    const { metadata } = await made(server, 'v1', v1('b'));
    const late = await server.watch(
      `${url('v2')}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
    );
    await made(server, 'v1', v1('c'));
    isHeld = false;
    release();
    const events = await late.take(4);
    assert.deepEqual(
      events.map(({ type, object }) => `${type} ${object.spec?.host ?? ''}`),
      ['ADDED a', 'ADDED b', 'BOOKMARK ', 'ADDED c'],
    );
    assert.ok(Number(events[2]?.object.metadata.resourceVersion) >= Number(metadata.resourceVersion));
    assert.ok(
      Number(events[2]?.object.metadata.resourceVersion) < Number(events[3]?.object.metadata.resourceVersion),
      'a client that resumes from the bookmark misses nothing',
    );
    for (const each of [watch, late]) each.close();
  });
});

const lies: readonly (readonly [name: string, respond: Responder, message: RegExp])[] = [
  [
    'another number of objects',
    () => ({ result: { status: 'Success' }, convertedObjects: [] }),
    /returned 0 objects, expected 1$/,
  ],
  ['a failure', () => ({ result: { status: 'Failed', message: 'no such version' } }), /failed: no such version$/],
  ['no result', () => ({ convertedObjects: [] }), /failed: response\.result\.status was '', not 'Success'$/],
  [
    'another UID',
    () => ({ uid: 'x', result: { status: 'Success' } }),
    /failed: expected response\.uid="[^"]+", got "x"$/,
  ],
  [
    'no review',
    () => ({ body: {} }),
    /failed: expected webhook response of apiextensions\.k8s\.io\/v1, Kind=ConversionReview, got , Kind=$/,
  ],
  ['no JSON', () => ({ body: undefined }), /failed: couldn't get version\/kind; json parse error/],
  [
    'an error',
    () => ({ body: 'out of memory', status: 500 }),
    /failed: an error on the server \(".*out of memory.*"\) has prevented the request from succeeding$/,
  ],
  ...(
    [
      [
        'the old version',
        { apiVersion: `${group}/v1` },
        /invalid groupVersion \(expected conversion\.example\.com\/v2, received conversion\.example\.com\/v1\)$/,
      ],
      ['another kind', { kind: 'Guest' }, /invalid kind \(expected Host, received Guest\)$/],
      [
        'another name',
        { metadata: { name: 'z', namespace: 'default' } },
        /returned invalid object: must have the same name: a != z$/,
      ],
      ['no metadata', { metadata: undefined }, /returned invalid object: must have the same name: a != $/],
    ] as const
  ).map(
    ([lie, change, message]) =>
      [
        lie,
        (request: ReviewRequest) => ({
          result: { status: 'Success' },
          convertedObjects: request.objects.map((object: ReviewRequest) => ({
            ...converted(object, request.desiredAPIVersion),
            ...change,
          })),
        }),
        message,
      ] as const,
  ),
  ...(
    [
      [
        'a label that is no text',
        { labels: { a: 1 } },
        /invalid metadata: metadata\.labels\[a\] must be a string, but is number in converted object$/,
      ],
      [
        'an invalid label',
        { labels: { a: '-' } },
        /invalid metadata: metadata\.labels: Invalid value: "-": a valid label must/,
      ],
    ] as const
  ).map(
    ([lie, metadata, message]) =>
      [
        lie,
        (request: ReviewRequest) => ({
          result: { status: 'Success' },
          convertedObjects: request.objects.map((object: ReviewRequest) => ({
            ...converted(object, request.desiredAPIVersion),
            metadata: { ...object.metadata, ...metadata },
          })),
        }),
        message,
      ] as const,
  ),
];

for (const [lie, respond, message] of lies) {
  test(`a webhook that answers with ${lie} causes a 500 in the other version only`, () =>
    withHosts(respond, async (server) => {
      await made(server, 'v1', v1('a'));
      for (const path of [url('v2', '/a'), url('v2')]) {
        const answer = await server.ask('GET', path);
        assert.equal(answer.status, 500, answer.text);
        assert.match(answer.body.message, message);
        assert.match(answer.body.message, /^conversion webhook for conversion\.example\.com\/v1, Kind=Host /);
      }
      assert.equal((await server.ask('GET', url('v1', '/a'))).status, 200);
      const metadata = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
      const partial = await server.ask('GET', url('v2'), { accept: metadata });
      assert.equal(partial.status, 200, 'the garbage collector and others need no conversion');
      assert.equal(partial.body.items.length, 1);
    }));
}

test('metadata other than labels and annotations cannot be changed by a webhook', () =>
  withHosts(
    (request) => ({
      result: { status: 'Success' },
      convertedObjects: request.objects.map((object: ReviewRequest) => ({
        ...converted(object, request.desiredAPIVersion),
        metadata: { ...object.metadata, finalizers: ['example.com/x'], generation: 9 },
      })),
    }),
    async (server) => {
      const { metadata } = await made(server, 'v1', v1('a'));
      assert.deepEqual((await server.ask('GET', url('v2', '/a'))).body.metadata, metadata);
    },
  ));

test('while a webhook is unreachable, writes and watches of the other version fail and all else works', async () => {
  await using server = await testServer();
  const webhook = await startWebhook(answers);
  await install(server, definition(webhook));
  await made(server, 'v1', v1('a'));
  const watch = await server.watch(`${url('v2')}?watch=true`);
  await watch.take(1);
  await webhook[Symbol.asyncDispose]();
  const refused =
    /^conversion webhook for conversion\.example\.com\/v\d, Kind=Host failed: Post ".*\?timeout=30s": dial tcp .*: connect: connection refused$/;
  const rejected = await server.ask('POST', url('v2'), { body: v2('b') });
  assert.equal(rejected.status, 500);
  assert.match(rejected.body.message, refused);
  assert.equal((await server.ask('GET', url('v1', '/b'))).status, 404, 'nothing was written');
  await made(server, 'v1', v1('b'));
  const [, error] = await watch.take(2);
  assert.deepEqual([error?.type, error?.object.code], ['ERROR', 500]);
  assert.match(error?.object.message, refused);
  await until('the watch ends', async () => watch.ended);
  assert.equal((await server.ask('GET', '/api/v1/namespaces/default/configmaps')).status, 200);
  assert.equal((await server.ask('DELETE', `${crds}/${name}`)).status, 200);
  await until(
    'the definition and its objects are deleted',
    async () => (await server.ask('GET', `${crds}/${name}`)).status === 404,
  );
});

test('a webhook that stalls delays only requests that need it', async () => {
  await withHosts(
    () => new Promise<object>(() => undefined),
    async (server) => {
      await made(server, 'v1', v1('a'));
      void server.ask('GET', url('v2', '/a')).catch(() => undefined); // until the server closes
      assert.equal((await server.ask('GET', url('v1', '/a'))).status, 200);
      await made(server, 'v1', v1('b'));
      assert.equal((await server.ask('DELETE', url('v1', '/a'))).status, 200);
    },
  );
});

test('after the storage version changed, stored objects are converted, and any update stores the new version', async () => {
  await using webhook = await startWebhook(answers);
  await using server = await testServer();
  await install(server, definition(webhook));
  await made(server, 'v1', v1('a'));
  const { body: crd } = await server.ask('GET', `${crds}/${name}`);
  const changed = { ...crd, spec: { ...crd.spec, versions: versions('v2') } };
  assert.equal((await server.ask('PUT', `${crds}/${name}`, { body: changed })).status, 200);
  const stored = async (): Promise<string> => {
    const { entries } = await server.context.store.range(`/registry/${group}/hosts/`);
    return entries.map(({ value }) => JSON.parse(value).apiVersion).join();
  };
  await until('objects are read in the new version', async () => {
    const { body, status } = await server.ask('GET', url('v2', '/a'));
    return status === 200 && body.spec.host === 'a' && webhook.requests.length > 0;
  });
  assert.deepEqual((await server.ask('GET', url('v1', '/a'))).body.spec, { address: 'a:80' });
  assert.equal(await stored(), `${group}/v1`);

  const { body: storedVersions } = await server.ask('GET', `${crds}/${name}/status`);
  assert.deepEqual(storedVersions.status.storedVersions, ['v1', 'v2']);
  const tooEarly = { ...storedVersions, spec: { ...storedVersions.spec, versions: versions('v2').slice(1) } };
  const refused = await server.ask('PUT', `${crds}/${name}`, { body: tooEarly });
  assert.equal(refused.status, 422);
  assert.match(refused.body.message, /status\.storedVersions\[0\]: Invalid value: "v1": missing from spec\.versions/);

  const { body: same } = await server.ask('GET', url('v1', '/a'));
  assert.equal((await server.ask('PUT', url('v1', '/a'), { body: same })).status, 200);
  assert.equal(await stored(), `${group}/v2`, 'an update without a change stores the object in the new version');
  const before = webhook.requests.length;
  assert.equal((await server.ask('GET', url('v2', '/a'))).body.spec.host, 'a');
  assert.equal(webhook.requests.length, before, 'the storage version needs no conversion any more');

  const migrated = await server.ask('PATCH', `${crds}/${name}/status`, {
    type: 'application/merge-patch+json',
    body: { status: { storedVersions: ['v2'] } },
  });
  assert.equal(migrated.status, 200, migrated.text);
  const removed = await server.ask('PATCH', `${crds}/${name}`, {
    type: 'application/merge-patch+json',
    body: { spec: { versions: versions('v2').slice(1), conversion: { strategy: 'None', webhook: null } } },
  });
  assert.equal(removed.status, 200, removed.text);
  await until('the old version is not served', async () => (await server.ask('GET', url('v1'))).status === 404);
  assert.equal((await server.ask('GET', url('v2', '/a'))).body.spec.host, 'a');
});

test('objects in a version that was removed although they were not migrated cannot be read, and others can', async () => {
  await using webhook = await startWebhook(answers);
  await using server = await testServer();
  await install(server, definition(webhook));
  await made(server, 'v1', v1('old'));
  const patch = (subresource: string, body: object): Promise<Answer> =>
    server.ask('PATCH', `${crds}/${name}${subresource}`, { type: 'application/merge-patch+json', body });
  assert.equal((await patch('', { spec: { versions: versions('v2') } })).status, 200);
  await until('objects are stored in the new version', async () => {
    await server.ask('DELETE', url('v2', '/new'));
    await made(server, 'v2', v2('new'));
    const { entries } = await server.context.store.range(`/registry/${group}/hosts/default/new`);
    return JSON.parse(entries[0]?.value ?? '{}').apiVersion === `${group}/v2`;
  });
  assert.equal((await patch('/status', { status: { storedVersions: ['v2'] } })).status, 200);
  const conversion = { strategy: 'None', webhook: null };
  assert.equal((await patch('', { spec: { versions: versions('v2').slice(1), conversion } })).status, 200);
  await until('the old version is not served', async () => (await server.ask('GET', url('v1'))).status === 404);
  assert.equal((await server.ask('GET', url('v2', '/new'))).status, 200);
  for (const path of [url('v2', '/old'), url('v2')]) {
    const { status, body } = await server.ask('GET', path);
    assert.equal(status, 500);
    assert.match(
      body.message,
      /hosts\/default\/old": version v1 is not in the versions of the CustomResourceDefinition/,
    );
  }
  assert.equal((await server.ask('GET', '/api/v1/configmaps')).status, 200);
  assert.equal((await server.ask('DELETE', `${crds}/${name}`)).status, 200);
  await until(
    'the definition and its objects are deleted',
    async () => (await server.ask('GET', `${crds}/${name}`)).status === 404,
  );
});
