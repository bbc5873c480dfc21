// Behaviour of servers, proxies and load balancers that HTTP allows and our server does not have.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { until } from '../server/testing/until.ts';
import type { HttpsOptions } from './https.ts';
import { overHttps } from './https.ts';
import type { Transport } from './transport.ts';

interface UnusualServer extends AsyncDisposable {
  /** The request lines, in order. */
  readonly requests: readonly string[];
  readonly sockets: readonly Socket[];
  open(options?: HttpsOptions): Transport;
}

/** Calls `answer` for each request with its number and socket. */
async function unusualServer(answer: (number: number, socket: Socket) => void): Promise<UnusualServer> {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => {}); // the client closed it
    socket.on('data', (bytes) => {
      for (const [line] of bytes.toString().matchAll(/^[A-Z]+ \S+ HTTP\/1\.1/gm)) {
        requests.push(line);
        answer(requests.length, socket);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A cast for TCP, which always has a port.
  const { port } = server.address() as AddressInfo;
  return {
    requests,
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

test('reuses one connection for consecutive requests', async () => {
  await using server = await unusualServer((number, socket) => socket.write(ok(`${number}`)));
  using transport = server.open();
  for (const want of ['1', '2', '3']) assert.equal((await transport.request(post)).body, want);
  assert.equal(server.sockets.length, 1);
});

test('keeps the connection of a DELETE with options', async () => {
  await using server = await unusualServer((number, socket) => socket.write(ok(`${number}`)));
  using transport = server.open();
  const call = { method: 'DELETE', path: '/x', body: '{"gracePeriodSeconds":0}' } as const;
  for (const want of ['1', '2', '3']) assert.equal((await transport.request(call)).body, want);
  assert.equal(server.sockets.length, 1);
});

test('requests wait for one of a limited number of connections; one that is aborted while waiting is never sent', async () => {
  const held: Socket[] = [];
  await using server = await unusualServer((_, socket) => void held.push(socket));
  using transport = server.open({ connections: 2 });
  const stop = new AbortController();
  const first = [transport.request(get), transport.request(get)];
  await until('both requests have arrived', () => held.length === 2 || undefined);
  const third = transport.request({ ...get, signal: stop.signal });
  const fourth = transport.request({ ...get, path: '/last' });
  stop.abort(new Error('enough'));
  await assert.rejects(third, { message: 'enough' });
  for (const socket of held.splice(0)) socket.write(ok('done'));
  await Promise.all(first);
  await until('the last request has arrived', () => held.length === 1 || undefined);
  held[0]?.write(ok('last'));
  assert.equal((await fourth).body, 'last');
  assert.equal(server.sockets.length, 2);
  assert.deepEqual(
    server.requests.filter((line) => line.includes('/last')),
    ['GET /last HTTP/1.1'],
  );
  assert.equal(server.requests.length, 3);
});

test('does not reuse a connection after Connection: close', async () => {
  await using server = await unusualServer((number, socket) => {
    socket.end(ok(`${number}`, 'Connection: close\r\n'));
  });
  using transport = server.open();
  for (const want of ['1', '2']) assert.equal((await transport.request(post)).body, want);
  assert.equal(server.sockets.length, 2);
});

test('does not reuse a connection after its keep-alive time', async () => {
  await using server = await unusualServer((number, socket) =>
    socket.write(ok(`${number}`, 'Keep-Alive: timeout=1\r\n')),
  );
  using transport = server.open();
  for (const want of ['1', '2']) assert.equal((await transport.request(post)).body, want);
  assert.equal(server.sockets.length, 2);
});

test('does not use a connection that was closed while idle', async () => {
  await using server = await unusualServer((number, socket) => socket.write(ok(`${number}`)));
  using transport = server.open();
  await transport.request(post);
  const [socket] = server.sockets;
  socket?.end();
  if (socket !== undefined) await once(socket, 'close');
  assert.equal((await transport.request(post)).body, '2');
});

/** Closes a connection on its second request, like a server whose idle timeout expires at that moment. */
const closingOnReuse = (number: number, socket: Socket): void => {
  if (number === 2) socket.destroy();
  else socket.write(ok(`${number}`));
};

test('retries a read on a stale connection', async () => {
  await using server = await unusualServer(closingOnReuse);
  using transport = server.open();
  await transport.request(get);
  assert.equal((await transport.request(get)).body, '3');
});

test('retries a stream on a stale connection', async () => {
  await using server = await unusualServer((number, socket) => {
    if (number === 2) socket.destroy();
    else socket.write(ok('a line\n'));
  });
  using transport = server.open();
  await transport.request(get);
  const lines: string[] = [];
  for await (const line of transport.stream(get)) lines.push(line);
  assert.deepEqual(lines, ['a line']);
  assert.equal(server.requests.length, 3);
});

test('does not retry a write on a stale connection, which may have been executed', async () => {
  await using server = await unusualServer(closingOnReuse);
  using transport = server.open();
  await transport.request(post);
  await assert.rejects(transport.request(post));
  assert.equal(server.requests.length, 2);
});

test('does not retry a read on a new connection, to avoid an endless loop', async () => {
  await using server = await unusualServer((_, socket) => socket.destroy());
  using transport = server.open();
  await assert.rejects(transport.request(get));
  assert.equal(server.requests.length, 1);
});

test('accepts an HTTP/1.0 response that ends with the connection', async () => {
  await using server = await unusualServer((_, socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nall of it'));
  using transport = server.open();
  assert.equal((await transport.request(get)).body, 'all of it');
});

test('fails on a response that is cut off', async () => {
  await using server = await unusualServer((_, socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel'),
  );
  using transport = server.open();
  await assert.rejects(transport.request(get), {
    message: 'the server closed the connection before the response was complete',
  });
});

test('fails on data that is not HTTP without ending the process', async () => {
  await using server = await unusualServer((_, socket) => socket.write('220 mail.example.org ESMTP\r\n\r\n'));
  using transport = server.open();
  await assert.rejects(transport.request(get), { message: /not an HTTP/ });
});

test('never assigns a response to another request', async () => {
  // The server sends two responses to the first request.
  await using server = await unusualServer((number, socket) => {
    socket.write(number === 1 ? ok('1') + ok('stray') : ok(`${number}`));
  });
  using transport = server.open();
  assert.equal((await transport.request(post)).body, '1');
  assert.equal((await transport.request(post)).body, '2');
});

test('applies backpressure to a stream whose lines are not read', async () => {
  const line = `${'x'.repeat(99_999)}\n`;
  await using server = await unusualServer((_, socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    for (let count = 0; count < 300; count++) socket.write(line);
    socket.end();
  });
  using transport = server.open();
  let count = 0;
  for await (const taken of transport.stream(get)) {
    assert.equal(taken.length, 99_999);
    // The send buffer of the server stays full while the client does not read.
    if (count === 0) await until('the server waits', () => (server.sockets[0]?.writableLength ?? 0) > 0 || undefined);
    count++;
  }
  assert.equal(count, 300);
});

test('reuses the connection of a stream that ended while reading was paused', async () => {
  await using server = await unusualServer((number, socket) => {
    socket.write(ok(number === 1 ? `${'x'.repeat(2 << 20)}\n` : `${number}`));
  });
  using transport = server.open();
  for await (const line of transport.stream(get)) assert.equal(line.length, 2 << 20);
  assert.equal((await transport.request(post)).body, '2');
  assert.equal(server.sockets.length, 1);
});

test('sends nothing after the transport was closed', async () => {
  await using server = await unusualServer((_, socket) => socket.write(ok('')));
  const transport = server.open({ connections: 1 });
  await transport.request(get);
  transport[Symbol.dispose]();
  await assert.rejects(transport.request(get), { code: 'ECONNRESET' });
  assert.equal(server.requests.length, 1);
});

test('rejects values that would inject a request', async () => {
  await using server = await unusualServer((_, socket) => socket.write(ok('')));
  using transport = server.open();
  await assert.rejects(transport.request({ method: 'GET', path: '/x HTTP/1.1\r\nX: y' }), TypeError);
  await assert.rejects(transport.request({ ...get, accept: 'a\r\nX: y' }), TypeError);
  using liar = overHttps({ server: 'http://127.0.0.1:1', credentials: async () => ({ token: 'a\nb' }) });
  await assert.rejects(liar.request(get), {
    message: 'the token contains characters that are not allowed in a header',
  });
  assert.equal(server.requests.length, 0);
});

test('closing the transport aborts requests in progress', async () => {
  await using server = await unusualServer(() => {});
  const transport = server.open();
  const waiting = transport.request(get);
  await until('the request has arrived', () => server.requests.length === 1 || undefined);
  transport[Symbol.dispose]();
  await assert.rejects(waiting, { message: 'the connection to the server was closed' });
});
