import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import { cacheOf, changeOf, entryOf } from '../cache/testing/cache.ts';
import { Flusher } from '../cache/flusher.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import { storedPresenter } from '../negotiate/presenter.ts';
import type { Sink } from '../reply.ts';
import { WatchStream } from './watch-stream.ts';

/** A client that reads `room` writes and then none until the test continues it. */
class Client implements Sink {
  readonly chunks: Buffer[] = [];
  ended = false;
  #room: number;
  readonly #drain: (() => void)[] = [];
  readonly #close: (() => void)[] = [];

  constructor(room = Infinity) {
    this.#room = room;
  }

  write(chunk: Buffer): boolean {
    this.chunks.push(chunk);
    return --this.#room > 0;
  }

  onDrain(listener: () => void): void {
    this.#drain.push(listener);
  }

  onClose(listener: () => void): void {
    this.#close.push(listener);
  }

  end(): void {
    this.ended = true;
  }

  abort(): void {
    this.ended = true;
  }

  readOn(room = Infinity): void {
    this.#room = room;
    for (const listener of this.#drain) listener();
  }

  leave(): void {
    for (const listener of this.#close) listener();
  }

  get listeners(): number {
    return this.#drain.length + this.#close.length;
  }

  /** Names in the order of arrival. */
  get names(): string[] {
    const lines = Buffer.concat(this.chunks).toString().split('\n').filter(Boolean);
    return lines.map((line) => (JSON.parse(line) as { object: { metadata: { name: string } } }).object.metadata.name);
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open(cache: ResourceCache, client: Client, flusher = new Flusher()): WatchStream {
  return new WatchStream({
    presenter: storedPresenter(configMapKind),
    sink: client,
    scope: cache.prefix,
    exact: false,
    watchers: cache.watchers,
    flusher,
    matches: undefined,
    bookmarks: false,
    revision: () => 0,
    seenRevision: 0,
    timeoutMs: 60_000,
  });
}

const write = (cache: ResourceCache, name: string, revision: number, data: Record<string, string> = {}): void =>
  cache.apply(changeOf(`shop/${name}`, revision, entryOf(`shop/${name}`, revision, data)), 0);

suite('delivery', () => {
  test('sends a burst as one write per watch', async () => {
    const [cache, client] = [cacheOf(), new Client()];
    const stream = open(cache, client);
    stream.resume([]);
    for (const [index, name] of ['a', 'b', 'c'].entries()) write(cache, name, index + 1);
    assert.equal(client.chunks.length, 0);
    await turn();
    assert.equal(client.chunks.length, 1);
    assert.deepEqual(client.names, ['a', 'b', 'c']);
    stream.close();
  });

  test('shares the bytes of a line between watches of one representation', async () => {
    const [cache, flusher] = [cacheOf(), new Flusher()];
    const clients = [new Client(), new Client()];
    const streams = clients.map((client) => open(cache, client, flusher));
    for (const stream of streams) stream.resume([]);
    write(cache, 'a', 1);
    await turn();
    assert.equal(clients[0]?.chunks[0], clients[1]?.chunks[0]);
    for (const stream of streams) stream.close();
  });

  test('continues when a client that was behind reads again', async () => {
    const [cache, client] = [cacheOf(), new Client(1)];
    const stream = open(cache, client);
    stream.resume([]);
    write(cache, 'a', 1);
    await turn();
    write(cache, 'b', 2);
    write(cache, 'c', 3);
    await turn();
    assert.deepEqual(client.names, ['a']);
    client.readOn();
    await turn();
    assert.deepEqual(client.names, ['a', 'b', 'c']);
    stream.close();
  });

  test('disconnects a client that does not read, without affecting others', async () => {
    const [cache, slow, quick] = [cacheOf(), new Client(1), new Client()];
    const streams = [open(cache, slow), open(cache, quick)];
    for (const stream of streams) stream.resume([]);
    const megabyte = 'x'.repeat(1 << 20);
    for (let revision = 1; revision <= 20; revision++) {
      write(cache, `n${revision}`, revision, { megabyte });
      await turn();
    }
    assert.equal(slow.ended, true);
    assert.equal(quick.ended, false);
    assert.equal(quick.names.length, 20);
    assert.equal(cache.watchers.count, 1);
    for (const stream of streams) stream.close();
  });
});

suite('initial objects', () => {
  const filled = (count: number): ResourceCache => {
    const cache = cacheOf();
    for (let index = 0; index < count; index++) cache.load(entryOf(`shop/n${String(index).padStart(5, '0')}`, 1));
    return cache;
  };

  test('are sent before live changes', async () => {
    const [cache, client] = [filled(1200), new Client()];
    const stream = open(cache, client);
    stream.begin(cache.range(cache.prefix));
    write(cache, 'late', 2);
    while (client.names.length < 1201) await turn();
    assert.equal(client.names.indexOf('late'), 1200);
    stream.close();
  });

  test('wait for a client that is behind, without adding listeners', async () => {
    const [cache, client] = [filled(3000), new Client(1)];
    const stream = open(cache, client);
    const { listeners } = client;
    stream.begin(cache.range(cache.prefix));
    let batches = 1;
    for (; client.names.length < 3000; batches++) {
      assert.equal(client.chunks.length, batches);
      client.readOn(1);
      await turn();
    }
    assert.ok(batches > 2, `${batches} batches`);
    assert.equal(client.listeners, listeners);
    stream.close();
  });

  test('stop when the client disconnects', async () => {
    const [cache, client] = [filled(3000), new Client(1)];
    open(cache, client).begin(cache.range(cache.prefix));
    client.leave();
    await turn();
    assert.equal(client.chunks.length, 1);
    assert.equal(cache.watchers.count, 0);
  });

  test('are not sent to a client that has disconnected before', () => {
    const [cache, client] = [filled(1), new Client()];
    const stream = open(cache, client);
    client.leave();
    stream.begin(cache.range(cache.prefix));
    stream.resume([]);
    assert.deepEqual([client.chunks.length, cache.watchers.count], [0, 0]);
  });
});

test('end sends what is pending, closes once and removes the watcher', () => {
  const [cache, client] = [cacheOf(), new Client()];
  const stream = open(cache, client);
  stream.resume([]);
  write(cache, 'a', 1);
  stream.end();
  stream.end();
  stream.close();
  write(cache, 'b', 2);
  assert.deepEqual(client.names, ['a']);
  assert.equal(client.ended, true);
  assert.equal(cache.watchers.count, 0);
});
