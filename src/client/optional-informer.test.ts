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

/** A server that has some versions of ServiceImports, each with the same object and one of its own, and nothing else. */
class Server implements Transport {
  versions: readonly string[];
  /** Whether it says that it has what it does not have yet. */
  promises: readonly string[] = [];
  isForbidden = false;
  readonly #streams = new Set<() => void>();

  constructor(...versions: readonly string[]) {
    this.versions = versions;
  }

  /** Has other versions from now on; whoever follows one that is gone is cut off. */
  serve(...versions: readonly string[]): void {
    this.versions = versions;
    for (const cut of this.#streams) cut();
  }

  async request({ path }: ApiRequest): ReturnType<Transport['request']> {
    const version = [...this.versions, ...this.promises].find((each) => path === `/apis/${group}/${each}`);
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

/** An informer at such a server; `log` has what its handler is told. */
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
  { name: 'the newest version is followed', versions: ['v1beta1', 'v1alpha1'], want: ['both', 'v1beta1'] },
  { name: 'an older one where there is no other', versions: ['v1alpha1'], want: ['both', 'v1alpha1'] },
  { name: 'a cluster without the kind has none, and nobody waits for it', versions: [], want: [] },
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

test('a kind that comes later is found within a minute', async () => {
  const server = new Server();
  await using started = start(server);
  await started.informer.settled();
  server.versions = ['v1alpha1'];
  await started.clock.advance(60_000);
  assert.deepEqual(started.log, ['+both', '+v1alpha1']);
});

test('a version that goes is left for another; what both have is never gone', async () => {
  const server = new Server('v1alpha1');
  await using started = start(server);
  await started.informer.settled();
  server.serve('v1beta1');
  await started.clock.advance(60_000);
  assert.deepEqual(started.log, ['+both', '+v1alpha1', '+both', '+v1beta1', '-v1alpha1']);
  assert.equal(started.errors.length, 1, 'it is said once');
});

test('a kind that goes takes its objects along, and may come again', async () => {
  const server = new Server('v1beta1');
  await using started = start(server);
  await started.informer.settled();
  server.serve();
  await started.clock.advance(10_000);
  assert.deepEqual(started.log, ['+both', '+v1beta1', '-both', '-v1beta1']);
  assert.equal(started.informer.silentMs, undefined, 'there is nothing that could be late');
  server.serve('v1beta1');
  await started.clock.advance(60_000);
  assert.deepEqual(started.log.slice(4), ['+both', '+v1beta1']);
});

test('a kind that is only announced is asked for ever more rarely', async () => {
  const server = new Server();
  server.promises = ['v1beta1'];
  await using started = start(server);
  await started.informer.settled();
  await started.clock.advance(5000);
  server.versions = ['v1beta1'];
  await started.clock.advance(30_000);
  assert.deepEqual(started.log, ['+both', '+v1beta1']);
});

test('what is not ours to read is empty until it is, and what was read stays', async () => {
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

test('who waits for it stops waiting when told to', async () => {
  const informer = new OptionalInformer<ServiceImport>(new Client(new Server()), [serviceImportKind]);
  const stop = new AbortController();
  const waiting = informer.settled(stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, { message: 'enough' });
});
