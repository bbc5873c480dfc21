import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { until } from '../../server/testing/until.ts';
import { SlowPathClient } from './slow-path-client.ts';
import { framed, TcpClient } from './testing/client.ts';
import { counterBytes, Counters } from './counters.ts';
import { packReply, unpackQueries } from './slow-path-messages.ts';
import { TableReader } from './lookup.ts';
import type { ListenAddress } from './protocol.ts';
import { Responder } from './responder.ts';
import { apex, decode, query, sampleTable } from './testing/sample.ts';
import type { TcpLimits } from './tcp.ts';
import { TcpListener } from './tcp.ts';

const web = query(`web.ns.svc.${apex}`);
const many = query(`many.ns.svc.${apex}`);
const outside = query('example.org');

interface Listening extends AsyncDisposable {
  readonly at: ListenAddress;
  readonly listener: TcpListener;
  /** Tokens of slow-path queries in order, and a function to reply to them. */
  readonly queries: number[];
  readonly reply: (token: number, messages: readonly Uint8Array[]) => void;
}

async function listen(limits: TcpLimits = {}): Promise<Listening> {
  const counters = new Counters(new SharedArrayBuffer(counterBytes));
  const queries: number[] = [];
  const slowPath = new SlowPathClient({
    post: (packed) => queries.push(...Array.from(unpackQueries(packed), ({ token }) => token)),
    maxOutstanding: 100,
    limiter: undefined,
    counters,
  });
  const responder = new Responder({ table: new TableReader(sampleTable().share()), counters });
  const address = '127.0.0.1';
  const context = { responder, slowPath };
  const listener = await TcpListener.open({ address, port: 0, reusePort: false, context, limits });
  return {
    at: { address, port: listener.port },
    listener,
    queries,
    reply: (token, messages) => {
      for (const [index, message] of messages.entries()) {
        slowPath.replied(packReply({ token, message, isLast: index === messages.length - 1 }));
      }
    },
    [Symbol.asyncDispose]: async () => {
      await listener.drain();
      listener.close();
    },
  };
}

const idOf = (reply: Uint8Array | undefined): number => (reply === undefined ? -1 : (decode(reply).id ?? -1));

test('accepts queries in pieces of any size', async () => {
  await using server = await listen();
  using client = new TcpClient(server.at);
  const bytes = Buffer.concat([framed(web, 1), framed(many, 2), framed(web, 3)]);
  for (const byte of bytes) {
    client.socket.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  assert.deepEqual([idOf(await client.next()), idOf(await client.next()), idOf(await client.next())], [1, 2, 3]);
});

test('answers 1000 pipelined queries in order', async () => {
  await using server = await listen();
  using client = new TcpClient(server.at);
  client.socket.write(Buffer.concat(Array.from({ length: 1000 }, (_, id) => framed(many, id))));
  for (let id = 0; id < 1000; id++) {
    const reply = await client.next();
    assert.equal(idOf(reply), id);
    if (id % 100 === 0) assert.equal(decode(reply ?? Buffer.alloc(0)).answers?.length, 100);
  }
});

test('sends replies as they are ready, and several messages for a transfer', async () => {
  await using server = await listen();
  using client = new TcpClient(server.at);
  client.socket.write(Buffer.concat([framed(outside, 1), framed(outside, 2), framed(web, 3)]));
  assert.equal(idOf(await client.next()), 3);
  await until('the queries arrive', () => server.queries.length === 2);
  const [first = 0, second = 0] = server.queries;
  const reply = (id: number): Uint8Array => framed(outside, id).subarray(2);
  server.reply(second, [reply(2), reply(22)]);
  server.reply(first, [reply(1)]);
  assert.deepEqual([idOf(await client.next()), idOf(await client.next()), idOf(await client.next())], [2, 22, 1]);
});

test('answers all queries after a half-close, then closes', async () => {
  await using server = await listen();
  using client = new TcpClient(server.at);
  client.socket.end(Buffer.concat([framed(web, 1), framed(outside, 2)]));
  assert.equal(idOf(await client.next()), 1);
  await until('the queries arrive', () => server.queries.length === 1);
  server.reply(server.queries[0] ?? 0, [framed(outside, 2).subarray(2)]);
  assert.equal(idOf(await client.next()), 2);
  assert.equal(await client.next(), undefined);
});

test('closes a connection without a complete query', async () => {
  await using server = await listen({ idleMs: 80 });
  using silent = new TcpClient(server.at);
  using slow = new TcpClient(server.at);
  const dripping = setInterval(() => slow.socket.writable && slow.socket.write(Buffer.of(0)), 10).unref();
  slow.socket.write(Buffer.of(1, 0));
  assert.equal(await silent.next(), undefined);
  assert.equal(await slow.next(), undefined);
  clearInterval(dripping);
});

test('pauses, then closes a connection with unread replies', async () => {
  await using server = await listen({ idleMs: 200 });
  using client = new TcpClient(server.at);
  client.socket.pause();
  const burst = Buffer.concat(Array.from({ length: 2000 }, (_, id) => framed(many, id)));
  let written = 0;
  const flooding = setInterval(() => {
    if (client.socket.writable && client.socket.writableLength < 1_000_000) client.socket.write(burst);
    written++;
  }, 2).unref();
  client.socket.on('error', () => undefined);
  await until(
    'the connection is closed',
    () => client.socket.destroyed || client.socket.errored !== null || written > 2000,
  );
  clearInterval(flooding);
  assert.ok(client.socket.destroyed || client.socket.errored !== null, 'it was closed');
});

test('stops reading beyond the limit of outstanding queries', async () => {
  await using server = await listen({ maxOutstanding: 4 });
  using client = new TcpClient(server.at);
  for (let id = 0; id < 20; id++) {
    client.socket.write(framed(outside, id));
    await delay(2);
  }
  assert.ok(server.queries.length <= 8, `${server.queries.length} queries`);
  for (let at = 0; at < 20; at++) {
    await until('the queries arrive', () => server.queries.length > at);
    server.reply(server.queries[at] ?? 0, [framed(outside, at).subarray(2)]);
    assert.equal(idOf(await client.next()), at);
  }
});

test('limits connections per client, and closes the connection idle longest', async () => {
  await using server = await listen({ maxConnections: 3, maxConnectionsPerClient: 100 });
  const clients = [];
  for (let index = 0; index < 4; index++) {
    const client = new TcpClient(server.at);
    clients.push(client);
    client.socket.write(framed(web));
    assert.equal(idOf(await client.next()), 1);
  }
  assert.equal(await clients[0]?.next(), undefined, 'the first was idle longest');
  clients[1]?.socket.write(framed(web, 9));
  assert.equal(idOf(await clients[1]?.next()), 9);
  for (const client of clients) client[Symbol.dispose]();
  await using strict = await listen({ maxConnectionsPerClient: 1 });
  using first = new TcpClient(strict.at);
  await once(first.socket, 'connect');
  first.socket.write(framed(web));
  await first.next();
  using second = new TcpClient(strict.at);
  second.socket.write(framed(web));
  assert.equal(await second.next(), undefined);
});

test('survives malformed and oversized queries', async () => {
  await using server = await listen();
  using long = new TcpClient(server.at);
  long.socket.on('error', () => undefined);
  long.socket.write(Buffer.alloc(9000, 0xff));
  assert.equal(await long.next(), undefined);
  using odd = new TcpClient(server.at);
  odd.socket.write(Buffer.concat([Buffer.of(0, 0), Buffer.of(0, 3, 1, 2, 3), framed(web, 5)]));
  assert.equal(idOf(await odd.next()), 5);
});
