import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure } from '../api/errors.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../api/kinds/multicluster/serviceimport/schema.ts';
import { Client } from './client.ts';
import { OptionalInformer } from './optional-informer.ts';
import { ManualClock } from './testing/clocks.ts';
import type { ApiRequest, Transport } from './transport.ts';

const group = 'multicluster.x-k8s.io';
const missing = (path: string): Error => failure({ code: 404, reason: 'NotFound', message: `no ${path}` });

/** A server of some versions of ServiceImports, each with a common object and one of its own. */
class Server implements Transport {
  versions: readonly string[];
  /** Versions that discovery lists but that return 404. */
  announced: readonly string[] = [];
  isForbidden = false;
  readonly #streams = new Set<() => void>();

  constructor(...versions: readonly string[]) {
    this.versions = versions;
  }

  /** Changes the served versions and ends all watches. */
  serve(...versions: readonly string[]): void {
    this.versions = versions;
    for (const cut of this.#streams) cut();
  }

  async request({ path }: ApiRequest): ReturnType<Transport['request']> {
    const version = [...this.versions, ...this.announced].find((each) => path === `/apis/${group}/${each}`);
    if (version === undefined) throw missing(path);
    return { status: 200, headers: {}, body: JSON.stringify({ resources: [{ name: 'serviceimports' }] }) };
  }

  async *stream({ path, signal }: ApiRequest): AsyncGenerator<string> {
    const version = this.versions.find((each) => path.includes(`/${each}/`));
    if (version === undefined) throw missing(path);
    if (this.isForbidden) throw failure({ code: 403, reason: 'Forbidden', message: `not ${path}` });
    for (const name of ['both', version]) {
      const metadata = { namespace: 'shop', name, uid: name, resourceVersion: '1' };
      yield JSON.stringify({ type: 'ADDED', object: { metadata } });
    }
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    yield JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '1', annotations } } });
    await new Promise<void>((resolve) => {
      this.#streams.add(resolve);
      signal?.addEventListener('abort', () => resolve());
    });
  }

  [Symbol.dispose](): void {}
}

/** Starts an informer; `log` contains the calls of its handler. */
function start(server: Server) {
  const stop = new AbortController();
  const clock = new ManualClock();
  const errors: string[] = [];
  const log: string[] = [];
  const informer = new OptionalInformer<ServiceImport>(
    new Client(server),
    [serviceImportKind, serviceImportAlphaKind],
    { onError: (error) => errors.push(String(error)), clock },
  );
  informer.subscribe({
    added: ({ metadata }) => log.push(`+${metadata.name}`),
    deleted: ({ metadata }) => log.push(`-${metadata.name}`),
  });
  const running = informer.run(stop.signal);
  return {
    informer,
    clock,
    errors,
    log,
    signal: stop.signal,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

for (const { name, versions, want } of [
  { name: 'follows the first version', versions: ['v1beta1', 'v1alpha1'], want: ['both', 'v1beta1'] },
  { name: 'follows an older version if there is no other', versions: ['v1alpha1'], want: ['both', 'v1alpha1'] },
  { name: 'settles with an empty cache in a cluster without the kind', versions: [], want: [] },
]) {
  test(name, async () => {
    await using started = start(new Server(...versions));
    await started.informer.settled(started.signal);
    assert.deepEqual(
      started.informer.list().map(({ metadata }) => metadata.name),
      want,
    );
    for (const each of want) assert.ok(started.informer.get(`shop/${each}`));
    assert.deepEqual(started.errors, []);
    assert.equal(started.informer.silentMs, want.length === 0 ? undefined : 0);
  });
}

test('finds a kind within a minute after it is added', async () => {
  const server = new Server();
  await using started = start(server);
  await started.informer.settled();
  server.versions = ['v1alpha1'];
  await started.clock.advance(60_000);
  assert.deepEqual(started.log, ['+both', '+v1alpha1']);
});

test('switches to another version without deleting objects that both have', async () => {
  const server = new Server('v1alpha1');
  await using started = start(server);
  await started.informer.settled();
  server.serve('v1beta1');
  await started.clock.advance(60_000);
  assert.deepEqual(started.log, ['+both', '+v1alpha1', '+both', '+v1beta1', '-v1alpha1']);
  assert.equal(started.errors.length, 1, 'the rejection is reported once');
});

test('deletes the objects of a kind that is removed, and finds it again', async () => {
  const server = new Server('v1beta1');
  await using started = start(server);
  await started.informer.settled();
  server.serve();
  await started.clock.advance(10_000);
  assert.deepEqual(started.log, ['+both', '+v1beta1', '-both', '-v1beta1']);
  assert.equal(started.informer.silentMs, undefined, 'no watch is open');
  server.serve('v1beta1');
  await started.clock.advance(60_000);
  assert.deepEqual(started.log.slice(4), ['+both', '+v1beta1']);
});

test('backs off while a kind in discovery returns 404', async () => {
  const server = new Server();
  server.announced = ['v1beta1'];
  await using started = start(server);
  await started.informer.settled();
  await started.clock.advance(5000);
  server.versions = ['v1beta1'];
  await started.clock.advance(30_000);
  assert.deepEqual(started.log, ['+both', '+v1beta1']);
});

test('a forbidden kind is empty until access is granted, and its objects stay when access is revoked', async () => {
  const server = new Server('v1beta1');
  server.isForbidden = true;
  await using started = start(server);
  await started.informer.settled();
  assert.deepEqual([started.log, started.errors.length], [[], 1]);
  server.isForbidden = false;
  await started.clock.advance(30_000);
  assert.deepEqual(started.log, ['+both', '+v1beta1']);
  server.isForbidden = true;
  server.serve('v1beta1');
  await started.clock.advance(60_000);
  assert.deepEqual(started.log, ['+both', '+v1beta1']);
});

test('settled rejects when its signal fires', async () => {
  const informer = new OptionalInformer<ServiceImport>(new Client(new Server()), [serviceImportKind]);
  const stop = new AbortController();
  const waiting = informer.settled(stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, { message: 'enough' });
});
