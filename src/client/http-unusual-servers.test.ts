// Servers, proxies and load balancers that do what HTTP allows and ours does not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { until } from '../server/testing/until.ts';
import type { HttpsOptions } from './https.ts';
import { overHttps } from './https.ts';
import type { Transport } from './transport.ts';

interface OddServer extends AsyncDisposable {
  /** The first lines of what was asked, in order. */
  readonly asked: readonly string[];
  readonly sockets: readonly Socket[];
  open(options?: HttpsOptions): Transport;
}

/** Answers each request by a script: the how-manieth it is, on which socket. */
async function oddServer(answer: (number: number, socket: Socket) => void): Promise<OddServer> {
  const asked: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => {}); // cut by whoever asked
    socket.on('data', (bytes) => {
      for (const [line] of bytes.toString().matchAll(/^[A-Z]+ \S+ HTTP\/1\.1/gm)) {
        asked.push(line);
        answer(asked.length, socket);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A cast for TCP, which always has a port.
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    sockets,
    open: (options) => overHttps({ server: `http://127.0.0.1:${port}`, credentials: async () => ({}) }, options),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const ok = (body: string, headers = ''): string =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
const get = { method: 'GET', path: '/x' } as const;
const post = { method: 'POST', path: '/x', body: '{}' } as const;

test('one connection carries one request after the other', async () => {
  await using server = await oddServer((number, socket) => socket.write(ok(`${number}`)));
  using transport = server.open();
  for (const want of ['1', '2', '3']) assert.equal((await transport.request(post)).body, want);
  assert.equal(server.sockets.length, 1);
});

test('requests share so many connections and wait their turn; one that is aborted meanwhile is never sent', async () => {
  const held: Socket[] = [];
  await using server = await oddServer((_, socket) => void held.push(socket));
  using transport = server.open({ connections: 2 });
  const stop = new AbortController();
  const first = [transport.request(get), transport.request(get)];
  await until('both are asked', () => held.length === 2 || undefined);
  const third = transport.request({ ...get, signal: stop.signal });
  const fourth = transport.request({ ...get, path: '/last' });
  stop.abort(new Error('enough'));
  await assert.rejects(third, { message: 'enough' });
  for (const socket of held.splice(0)) socket.write(ok('done'));
  await Promise.all(first);
  await until('the last is asked', () => held.length === 1 || undefined);
  held[0]?.write(ok('last'));
  assert.equal((await fourth).body, 'last');
  assert.equal(server.sockets.length, 2);
  assert.deepEqual(
    server.asked.filter((line) => line.includes('/last')),
    ['GET /last HTTP/1.1'],
  );
  assert.equal(server.asked.length, 3);
});

test('a connection that the server says it closes is not used again', async () => {
  await using server = await oddServer((number, socket) => {
    socket.end(ok(`${number}`, 'Connection: close\r\n'));
  });
  using transport = server.open();
  for (const want of ['1', '2']) assert.equal((await transport.request(post)).body, want);
  assert.equal(server.sockets.length, 2);
});

test('a connection that is kept for a second is not used after it', async () => {
  await using server = await oddServer((number, socket) => socket.write(ok(`${number}`, 'Keep-Alive: timeout=1\r\n')));
  using transport = server.open();
  for (const want of ['1', '2']) assert.equal((await transport.request(post)).body, want);
  assert.equal(server.sockets.length, 2);
});

test('a connection that was closed while it was idle is not used', async () => {
  await using server = await oddServer((number, socket) => socket.write(ok(`${number}`)));
  using transport = server.open();
  await transport.request(post);
  const [socket] = server.sockets;
  socket?.end();
  if (socket !== undefined) await once(socket, 'close');
  assert.equal((await transport.request(post)).body, '2');
});

/** Closes a connection when it is asked the second time, as servers do whose patience ended in the same moment. */
const impatient = (number: number, socket: Socket): void => {
  if (number === 2) socket.destroy();
  else socket.write(ok(`${number}`));
};

test('a read that met the end of an idle connection is sent again', async () => {
  await using server = await oddServer(impatient);
  using transport = server.open();
  await transport.request(get);
  assert.equal((await transport.request(get)).body, '3');
});

test('a stream likewise', async () => {
  await using server = await oddServer((number, socket) => {
    if (number === 2) socket.destroy();
    else socket.write(ok('a line\n'));
  });
  using transport = server.open();
  await transport.request(get);
  const lines: string[] = [];
  for await (const line of transport.stream(get)) lines.push(line);
  assert.deepEqual(lines, ['a line']);
  assert.equal(server.asked.length, 3);
});

test('a write that met it fails, since it may have been done', async () => {
  await using server = await oddServer(impatient);
  using transport = server.open();
  await transport.request(post);
  await assert.rejects(transport.request(post));
  assert.equal(server.asked.length, 2);
});

test('a read on a new connection is not sent again, or it would be for ever', async () => {
  await using server = await oddServer((_, socket) => socket.destroy());
  using transport = server.open();
  await assert.rejects(transport.request(get));
  assert.equal(server.asked.length, 1);
});

test('an answer in HTTP/1.0 without a length is whole when the connection ends', async () => {
  await using server = await oddServer((_, socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nall of it'));
  using transport = server.open();
  assert.equal((await transport.request(get)).body, 'all of it');
});

test('an answer that breaks off fails', async () => {
  await using server = await oddServer((_, socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel'));
  using transport = server.open();
  await assert.rejects(transport.request(get), { message: 'the answer broke off' });
});

test('what is not HTTP fails, and does not end the process', async () => {
  await using server = await oddServer((_, socket) => socket.write('220 mail.example.org ESMTP\r\n\r\n'));
  using transport = server.open();
  await assert.rejects(transport.request(get), { message: /not an answer of HTTP/ });
});

test('nobody gets the answer to what another asked', async () => {
  // The server answers the first request twice.
  await using server = await oddServer((number, socket) => {
    socket.write(number === 1 ? ok('1') + ok('stray') : ok(`${number}`));
  });
  using transport = server.open();
  assert.equal((await transport.request(post)).body, '1');
  assert.equal((await transport.request(post)).body, '2');
});

test('a stream is read no faster than its lines are taken', async () => {
  const line = `${'x'.repeat(99_999)}\n`;
  await using server = await oddServer((_, socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    for (let count = 0; count < 300; count++) socket.write(line);
    socket.end();
  });
  using transport = server.open();
  let count = 0;
  for await (const taken of transport.stream(get)) {
    assert.equal(taken.length, 99_999);
    // The server's own buffer does not empty while nobody reads.
    if (count === 0) await until('the server waits', () => (server.sockets[0]?.writableLength ?? 0) > 0 || undefined);
    count++;
  }
  assert.equal(count, 300);
});

test('a stream that ended while it was held back leaves a connection that can be used', async () => {
  await using server = await oddServer((number, socket) => {
    socket.write(ok(number === 1 ? `${'x'.repeat(2 << 20)}\n` : `${number}`));
  });
  using transport = server.open();
  for await (const line of transport.stream(get)) assert.equal(line.length, 2 << 20);
  assert.equal((await transport.request(post)).body, '2');
  assert.equal(server.sockets.length, 1);
});

test('nothing is sent after the transport was closed', async () => {
  await using server = await oddServer((_, socket) => socket.write(ok('')));
  const transport = server.open({ connections: 1 });
  await transport.request(get);
  transport[Symbol.dispose]();
  await assert.rejects(transport.request(get), { code: 'ECONNRESET' });
  assert.equal(server.asked.length, 1);
});

test('what would be read as another request is not sent', async () => {
  await using server = await oddServer((_, socket) => socket.write(ok('')));
  using transport = server.open();
  await assert.rejects(transport.request({ method: 'GET', path: '/x HTTP/1.1\r\nX: y' }), TypeError);
  await assert.rejects(transport.request({ ...get, accept: 'a\r\nX: y' }), TypeError);
  using liar = overHttps({ server: 'http://127.0.0.1:1', credentials: async () => ({ token: 'a\nb' }) });
  await assert.rejects(liar.request(get), { message: 'the token has characters that cannot be sent' });
  assert.equal(server.asked.length, 0);
});

test('closing the transport ends what is under way', async () => {
  await using server = await oddServer(() => {});
  const transport = server.open();
  const waiting = transport.request(get);
  await until('it is asked', () => server.asked.length === 1 || undefined);
  transport[Symbol.dispose]();
  await assert.rejects(waiting, { message: 'the connection to the server was closed' });
});
