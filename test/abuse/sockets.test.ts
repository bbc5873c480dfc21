import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectPlain } from 'node:net';
import { after, before, describe, test } from 'node:test';

import { Connection } from '../harness/connection.ts';
import type { Credentials } from '../harness/server.ts';
import { FairleadServer } from '../harness/server.ts';
import { exchange, openSocket } from './raw.ts';

const services = '/api/v1/namespaces/default/services';
const mebibyte = 1024 * 1024;

interface Bad {
  readonly name: string;
  readonly send: string | Buffer;
  /** 0: the connection is closed without a response. */
  readonly status: readonly number[];
  /** Without a client certificate, which would authenticate the request. */
  readonly isStranger?: true;
}

const request = (line: string, headers: readonly string[] = [], body = ''): string =>
  [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n');

const post = (body: string, headers: readonly string[] = []): string =>
  request(
    `POST ${services}`,
    ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`, ...headers],
    body,
  );

const chunked = (body: string): string =>
  request(
    `POST ${services}`,
    ['Content-Type: application/json', 'Transfer-Encoding: chunked'],
    `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  );

const smuggled = `GET ${services} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

const cases: readonly Bad[] = [
  { name: 'words', send: 'hello there\r\n\r\n', status: [400] },
  { name: 'zeros', send: Buffer.alloc(4096), status: [400] },
  { name: 'a request line without a version', send: 'GET /version\r\n\r\n', status: [200, 400] },
  { name: 'HTTP/9', send: 'GET /version HTTP/9.9\r\nHost: x\r\n\r\n', status: [400, 505] },
  { name: 'no Host', send: 'GET /version HTTP/1.1\r\n\r\n', status: [400] },
  { name: 'a header without a colon', send: request('GET /version', ['nonsense']), status: [400] },
  { name: 'a header with a NUL', send: request('GET /version', ['X-A: a\0b']), status: [400] },
  { name: 'headers of 100 KB', send: request('GET /version', [`X-A: ${'a'.repeat(100_000)}`]), status: [0, 431] },
  {
    name: '5,000 headers',
    send: request(
      'GET /version',
      Array.from({ length: 5000 }, (_, index) => `X-${index}: aaaaaaaaa`),
    ),
    status: [0, 431],
  },
  { name: 'a URL of 100 KB', send: request(`GET /${'a'.repeat(100_000)}`), status: [0, 431] },
  {
    name: 'bytes that are not ASCII in the path',
    send: Buffer.from('GET /api/v1/nodes/\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n', 'latin1'),
    status: [400, 404],
  },
  { name: 'a path that is not UTF-8', send: request('GET /api/v1/nodes/%ff%fe'), status: [400, 404] },
  { name: 'a query that is not UTF-8', send: request(`GET ${services}?labelSelector=%ff%fe`), status: [400] },
  { name: 'a slash in a name', send: request('GET /api/v1/namespaces/default%2fservices'), status: [400, 404] },
  {
    name: 'dots in a path',
    send: request('GET /api/v1/namespaces/default/../kube-system/secrets'),
    status: [400, 404],
  },
  { name: 'escaped dots in a path', send: request('GET /api/v1/namespaces/%2e%2e/secrets/%2e%2e'), status: [400, 404] },
  { name: 'two slashes', send: request('GET //api//v1//services'), status: [301, 404] },
  { name: 'a path that is a URL', send: request('GET https://example.org/api/v1/services'), status: [200, 400, 404] },
  { name: 'CONNECT', send: request('CONNECT example.org:443'), status: [0, 400, 404, 405] },
  { name: 'TRACE', send: request('TRACE /version'), status: [405] },
  { name: 'a body of 3 MiB and one byte', send: post(' '.repeat(3 * mebibyte + 1)), status: [413] },
  { name: 'a chunked body of 4 MB', send: chunked(' '.repeat(4_000_000)), status: [413] },
  {
    name: 'a length of 9e99',
    send: request(`POST ${services}`, ['Content-Length: 99999999999999999999']),
    status: [400, 413],
  },
  { name: 'a negative length', send: request(`POST ${services}`, ['Content-Length: -1']), status: [400] },
  {
    name: 'a length twice',
    send: request(`POST ${services}`, ['Content-Length: 2', 'Content-Length: 40'], `{}${smuggled}`),
    status: [400],
  },
  {
    name: 'a length and chunks',
    send: request(`POST ${services}`, ['Content-Length: 4', 'Transfer-Encoding: chunked'], `0\r\n\r\n${smuggled}`),
    status: [400],
  },
  {
    name: 'malformed chunks',
    send: request(`POST ${services}`, ['Transfer-Encoding: xchunked'], `0\r\n\r\n${smuggled}`),
    status: [400, 415, 501],
  },
  {
    name: 'a chunk with an invalid length',
    send: request(`POST ${services}`, ['Transfer-Encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'),
    status: [400],
  },
  {
    name: 'a folded header',
    send: request('GET /version', ['X-A: a', ' Transfer-Encoding: chunked']),
    status: [200, 400],
  },
  {
    name: 'a space before the colon',
    send: request(`POST ${services}`, ['Transfer-Encoding : chunked'], `0\r\n\r\n${smuggled}`),
    status: [400],
  },
  { name: 'line feeds alone', send: 'GET /version HTTP/1.1\nHost: x\n\n', status: [200, 400] },
  {
    name: 'an upgrade to h2c',
    send: request('GET /version', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']),
    status: [200, 400],
  },
  {
    name: 'a websocket',
    send: request('GET /version', [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    ]),
    status: [0, 200, 400],
  },
  { name: 'an expectation', send: request('GET /version', ['Expect: the-moon']), status: [200, 417] },
  {
    name: 'a wrong token',
    send: request('GET /api', ['Authorization: Bearer nonsense']),
    status: [401],
    isStranger: true,
  },
  {
    name: 'an Authorization header without a token',
    send: request('GET /api', [`Authorization: Basic ${'A'.repeat(2000)}`]),
    status: [401, 403],
    isStranger: true,
  },
  { name: 'half a JSON', send: post('{"metadata":'), status: [400] },
  { name: 'nesting of 100,000', send: post('['.repeat(100_000)), status: [400] },
  {
    name: 'bytes that are not UTF-8 in a body',
    send: Buffer.concat([
      Buffer.from(request(`POST ${services}`, ['Content-Length: 4'])),
      Buffer.from([0x22, 0xff, 0xfe, 0x22]),
    ]),
    status: [400],
  },
];

describe('malformed requests to a server', () => {
  let server: FairleadServer;
  let credentials: Credentials;
  before(async () => {
    server = await FairleadServer.start();
    credentials = await server.credentials();
  });
  after(() => server[Symbol.asyncDispose]());

  /** Checks that the server answers, was not restarted, and uses bounded memory. */
  const checkUnharmed = async (): Promise<void> => {
    using connection = new Connection(server.port, credentials);
    assert.deepEqual(await connection.ask('GET', '/readyz'), { status: 200, body: 'ok' });
    const { body } = await connection.ask('GET', services);
    assert.deepEqual(
      body.items.map((item: { metadata: { name: string } }) => item.metadata.name),
      ['kubernetes'],
    );
    assert.ok((await server.residentBytes()) < 500 * mebibyte);
  };

  for (const { name, send, status, isStranger } of cases) {
    test(name, async () => {
      const socket = await openSocket(server.port, isStranger ? { ca: credentials.ca } : credentials);
      const answer = await exchange(socket, send);
      assert.ok(status.includes(answer.status), answer.text.slice(0, 500) || 'closed');
      assert.doesNotMatch(answer.text, /HTTP\/1\.1 200[^]*HTTP\/1\.1 200/, 'a second request was smuggled in');
      const body = answer.text.split('\r\n\r\n')[1] ?? '';
      if (answer.status >= 400 && body.startsWith('{')) {
        const { kind, code } = JSON.parse(body) as { readonly kind: string; readonly code: number };
        assert.deepEqual({ kind, code }, { kind: 'Status', code: answer.status });
      }
      await checkUnharmed();
    });
  }

  test('rejects garbage and plain HTTP on the TLS port', async () => {
    for (const bytes of ['GET / HTTP/1.1\r\n\r\n', Buffer.alloc(1000, 0x16), '\x16\x03\x01\xff\xff\x01', '']) {
      const socket = connectPlain(server.port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.end(bytes);
      socket.resume();
      await once(socket, 'close');
    }
    await checkUnharmed();
  });

  test('accepts 2,000 connections that open and close', async () => {
    for (let round = 0; round < 20; round++) {
      const sockets = Array.from({ length: 100 }, () => connectPlain(server.port, '127.0.0.1'));
      for (const [index, socket] of sockets.entries()) {
        socket.on('error', () => undefined);
        socket.on('connect', () => (index % 2 === 0 ? socket.destroy() : socket.end('\x16\x03\x01')));
        socket.resume();
      }
      await Promise.all(sockets.map((socket) => once(socket, 'close')));
    }
    await checkUnharmed();
  });

  test('300 slow clients do not delay others', async () => {
    const slow = await Promise.all(
      Array.from({ length: 300 }, async (_, index) => {
        const socket = await openSocket(server.port, credentials);
        const head = request(`POST ${services}`, ['Content-Type: application/json', 'Content-Length: 1000']);
        socket.write(index % 2 === 0 ? `${head}{` : head.slice(0, 60));
        return socket;
      }),
    );
    const started = performance.now();
    await checkUnharmed();
    // Slow clients are disconnected after 20 s; other clients must not wait for that
    assert.ok(performance.now() - started < 15_000);
    for (const socket of slow) socket.destroy();
    await checkUnharmed();
  });

  test('drops requests whose bodies never end', async () => {
    for (let count = 0; count < 50; count++) {
      const socket = await openSocket(server.port, credentials);
      socket.write(`${request(`POST ${services}`, ['Content-Length: 100000'])}{"metadata":{"name":"half"`);
      socket.destroy();
      await once(socket, 'close');
    }
    await checkUnharmed();
  });
});
