import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { failure } from '../api/errors.ts';
import { configMapKind } from '../api/kinds/core/configmap/kind.ts';
import type { TestServer } from '../server/testing/server.ts';
import { testServer } from '../server/testing/server.ts';
import { Client } from './client.ts';
import { sleep } from './clock.ts';
import { inProcess } from './in-process.ts';
import type { InformerOptions } from './informer.ts';
import { Informer } from './informer.ts';
import type { Source } from './testing/informer-contract.ts';
import { informerContract } from './testing/informer-contract.ts';
import { fastClock, ManualClock, settled } from './testing/clocks.ts';
import { FaultyTransport } from './testing/faulty.ts';
import { Feed } from './testing/feed.ts';
import type { ConfigMap } from '../api/kinds/core/configmap/schema.ts';
import type { Transport } from './transport.ts';

for (const hasWatchList of [true, false]) {
  const open = (): Source => {
    const feed = new Feed();
    return {
      transport: feed.transport({ hasWatchList }),
      put: (name, value) => feed.put(name, value),
      remove: (name) => feed.remove(name),
      compact: () => feed.compact(),
      items: () => feed.items(),
    };
  };
  informerContract(`a feed ${hasWatchList ? 'with' : 'without'} WatchList`, open, 200);
}

suite('a server', () => {
  let server: TestServer;
  before(async () => {
    server = await testServer();
  });
  after(() => server[Symbol.asyncDispose]());
  const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
  const namespace = 'default';

  informerContract(
    'a server in this process',
    () => {
      const transport = inProcess((request) => server.handle({ ...request, user }));
      const client = new Client(transport);
      return {
        transport,
        put: async (name, value) =>
          void (await client.apply(configMapKind, { metadata: { name, namespace }, data: { value } })),
        remove: (name) => client.delete(configMapKind, { name, namespace }),
        compact: () => {},
        items: async () =>
          (await client.list(configMapKind, { namespace, fieldSelector: 'metadata.name!=kube-root-ca.crt' })).items,
      };
    },
    20,
  );
});

interface Started extends AsyncDisposable {
  readonly informer: Informer<ConfigMap>;
  readonly errors: unknown[];
}

function start(transport: Transport, options: Partial<InformerOptions<ConfigMap>> = {}): Started {
  const errors: unknown[] = [];
  const informer = new Informer<ConfigMap>(new Client(transport), configMapKind, {
    clock: fastClock,
    random: () => 0.5,
    onError: (error) => void errors.push(error),
    ...options,
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  return {
    informer,
    errors,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

test('reports a handler that throws and delivers the change to the other handlers', async () => {
  const feed = new Feed();
  feed.put('a', '1');
  await using started = start(feed.transport({ hasWatchList: true }));
  const { informer, errors } = started;
  const seen: string[] = [];
  informer.subscribe({
    added: ({ metadata }) => {
      throw new Error(`no ${metadata.name}`);
    },
  });
  informer.subscribe({ added: ({ metadata }) => void seen.push(metadata.name ?? '') });
  await informer.synced();
  feed.put('b', '1');
  await settled();
  assert.deepEqual(seen, ['a', 'b']);
  assert.deepEqual(errors.map(String), ['Error: no a', 'Error: no b']);
});

test('a late subscriber receives the cached objects, and an unsubscribed one nothing', async () => {
  const feed = new Feed();
  feed.put('a', '1');
  await using started = start(feed.transport({ hasWatchList: true }));
  const { informer } = started;
  await informer.synced();
  const seen: string[] = [];
  const leave = informer.subscribe({ added: ({ metadata }) => void seen.push(metadata.name ?? '') });
  feed.put('b', '1');
  await settled();
  leave();
  feed.put('c', '1');
  await settled();
  assert.deepEqual(seen, ['a', 'b']);
});

test('delivers nothing and is not synced before the initial events are complete', async () => {
  const steps = Promise.withResolvers<void>();
  const line = (type: string, metadata: object): string => JSON.stringify({ type, object: { metadata } });
  await using started = start({
    request: () => assert.fail('no list was expected'),
    async *stream({ signal }) {
      yield line('ADDED', { name: 'a', resourceVersion: '1', uid: 'u' });
      await steps.promise;
      yield line('BOOKMARK', { resourceVersion: '2', annotations: { 'k8s.io/initial-events-end': 'true' } });
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    },
    [Symbol.dispose]: () => {},
  });
  const { informer } = started;
  await settled();
  assert.equal(informer.hasSynced, false);
  assert.equal(informer.list().length, 0);
  steps.resolve();
  await informer.synced();
  assert.equal(informer.list().length, 1);
});

test('resumes a watch from the last bookmark', async () => {
  const requests: unknown[] = [];
  await using started = start({
    request: () => assert.fail('no list was expected'),
    async *stream({ query, signal }) {
      requests.push(query?.['resourceVersion']);
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      if (requests.length === 1)
        yield JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '5', annotations } } });
      else if (requests.length === 2)
        yield JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } });
      else await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    },
    [Symbol.dispose]: () => {},
  });
  await started.informer.synced();
  while (requests.length < 3) await settled();
  assert.deepEqual(requests, [undefined, '5', '9']);
});

test('backoff grows to a maximum, has jitter, respects Retry-After, and resets after a success', async () => {
  const waits: number[] = [];
  let seconds = 0;
  let isWell = false;
  const clock = new ManualClock();
  const transport = {
    request: () => assert.fail('no list was expected'),
    async *stream() {
      if (!isWell) throw failure({ code: 503, message: 'busy', details: { retryAfterSeconds: seconds } });
      yield JSON.stringify({
        type: 'BOOKMARK',
        object: { metadata: { resourceVersion: '5', annotations: { 'k8s.io/initial-events-end': 'true' } } },
      });
      yield JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '6' } } });
      isWell = false;
      throw new Error('cut');
    },
    [Symbol.dispose]: () => {},
  };
  await using started = start(transport, { clock, random: () => 0, backoff: { baseMs: 1000, maxMs: 4000 } });
  const pass = async (): Promise<void> => {
    await settled();
    waits.push(clock.nextMs ?? 0);
    await clock.advance(clock.nextMs ?? 0);
  };
  for (let turn = 0; turn < 4; turn++) await pass();
  seconds = 7;
  await pass();
  await pass();
  seconds = 0;
  isWell = true;
  await pass();
  await pass();
  assert.deepEqual(waits, [500, 1000, 2000, 2000, 2000, 7000, 7000, 500]);
  assert.ok(started.errors.length > 0);
});

test('drops a watch that exceeds its duration', async () => {
  const clock = new ManualClock();
  const feed = new Feed();
  const transport = new FaultyTransport(feed.transport({ hasWatchList: true }));
  await using started = start(transport, { clock, random: () => 0 });
  await started.informer.synced();
  await clock.advance(330_000);
  assert.deepEqual(started.errors.map(String), ['Error: the watch exceeded its duration']);
});

test('drops a watch without bookmarks and finds missed changes with a new list', async () => {
  const clock = new ManualClock();
  const requests: unknown[] = [];
  const items = ['a'];
  const bookmark = (annotations = {}): string =>
    JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '5', annotations } } });
  const transport: Transport = {
    request: () => assert.fail('no list was expected'),
    async *stream({ query, signal }) {
      requests.push([query?.['resourceVersion'], query?.['sendInitialEvents']]);
      for (const name of items) {
        const metadata = { name, namespace: 'default', uid: name, resourceVersion: '5' };
        yield JSON.stringify({ type: 'ADDED', object: { metadata } });
      }
      yield bookmark({ 'k8s.io/initial-events-end': 'true' });
      if (requests.length === 1) yield bookmark();
      // From here on the connection is dead but not closed.
      await new Promise<void>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
    },
    [Symbol.dispose]: () => {},
  };
  await using started = start(transport, { clock, random: () => 0 });
  await started.informer.synced();
  await settled();
  items.push('b');
  await clock.advance(179_000);
  assert.equal(requests.length, 1);
  await clock.advance(1000);
  await clock.advance(400);
  assert.deepEqual(started.errors.map(String), ['Error: the watch received no bookmarks, listing again']);
  assert.deepEqual(requests, [
    [undefined, true],
    [undefined, true],
  ]);
  assert.deepEqual(
    started.informer.list().map(({ metadata }) => metadata.name),
    ['a', 'b'],
  );
});

test('reports how long the server has been silent', async () => {
  const clock = new ManualClock();
  const feed = new Feed();
  await using started = start(feed.transport({ hasWatchList: true }), { clock, random: () => 0 });
  assert.equal(started.informer.silentMs, undefined);
  await started.informer.synced();
  assert.equal(started.informer.silentMs, 0);
  await clock.advance(5000);
  assert.equal(started.informer.silentMs, 5000);
  feed.put('a', '1');
  await settled();
  assert.equal(started.informer.silentMs, 0);
});

test('lists if the server does not mark the end of the initial events', async () => {
  const clock = new ManualClock();
  const feed = new Feed();
  feed.put('a', '1');
  const real = feed.transport({ hasWatchList: true });
  await using started = start(
    {
      ...real,
      async *stream(call) {
        for await (const line of real.stream(call)) if (!line.includes('BOOKMARK')) yield line;
      },
    },
    { clock, random: () => 0 },
  );
  await clock.advance(3000);
  assert.equal(started.informer.hasSynced, false);
  await clock.advance(1000);
  assert.equal(started.informer.list().length, 1);
  assert.deepEqual(started.errors.map(String), ['Error: the server did not mark the end of the initial events']);
});

test('lists at once if the server aborts the initial events, as Kubernetes over an old etcd does', async () => {
  const feed = new Feed();
  feed.put('a', '1');
  const real = feed.transport({ hasWatchList: true });
  const status = { kind: 'Status', status: 'Failure', code: 500, message: 'RequestWatchProgress is disabled' };
  await using started = start({
    ...real,
    async *stream(call) {
      if (call.query?.['sendInitialEvents'] === true) yield JSON.stringify({ type: 'ERROR', object: status });
      else yield* real.stream(call);
    },
  });
  await started.informer.synced();
  assert.equal(started.informer.list().length, 1);
  assert.deepEqual(started.errors.map(String), ['Error: RequestWatchProgress is disabled']);
});

test('waits for initial events as long as they arrive', async () => {
  const clock = new ManualClock();
  const feed = new Feed();
  for (const name of ['a', 'b', 'c']) feed.put(name, '1');
  const real = feed.transport({ hasWatchList: true });
  await using started = start(
    {
      ...real,
      async *stream(call) {
        for await (const line of real.stream(call)) {
          await sleep(clock, 2000, call.signal ?? new AbortController().signal);
          yield line;
        }
      },
    },
    { clock, random: () => 0 },
  );
  for (let step = 0; step < 5; step++) await clock.advance(2000);
  assert.equal(started.informer.list().length, 3);
  assert.deepEqual(started.errors, []);
});

test('synced rejects when its signal fires', async () => {
  const informer = new Informer(new Client(new Feed().transport({ hasWatchList: true })), configMapKind);
  const stop = new AbortController();
  const waiting = informer.synced(stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, { message: 'enough' });
  await assert.rejects(informer.synced(stop.signal), { message: 'enough' });
});
