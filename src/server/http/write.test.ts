// A client that does not read must not make the server buffer its reply: these tests count encoded and pending bytes.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:tls';
import type { TestContext } from 'node:test';
import { before, suite, test } from 'node:test';

import { defaultLimits } from '../limits/options.ts';
import { UnsentBytes } from '../limits/unsent-bytes.ts';
import type { KeyPair } from '../pki/issue.ts';
import { issue, issueCa } from '../pki/issue.ts';
import type { Reply } from '../reply.ts';
import { until } from '../testing/until.ts';
import type { Listener } from './listener.ts';
import { listen } from './listener.ts';

let tls: KeyPair & { readonly ca: string };
before(async () => {
  const validity = { now: new Date(), days: 1 };
  const ca = await issueCa('test-ca', validity);
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] };
  tls = { ...(await issue(ca, { use: 'server', commonName: 'test', names }, validity)), ca: ca.cert };
});

const pieceLength = 128 << 10;
const pieceCount = 2000;
/** Hardly compressible: it repeats at a greater distance than gzip's window. */
const noise = randomBytes((pieceLength * 3) / 4).toString('base64');

/** A server whose replies are 250 MB in pieces, or one piece at /whole. */
class LargeServer {
  readonly unsent = new UnsentBytes(defaultLimits);
  made = 0;
  released = 0;

  /** Listens until the test ends. */
  async start(stallMs: number, context: TestContext): Promise<Listener> {
    const listener = await listen({
      host: '127.0.0.1',
      port: 0,
      tls,
      connections: { stallMs, sweepMs: 60_000 },
      identify: () => ({ name: 'alice', uid: '', groups: [] }),
      handle: async ({ url }) => this.#reply(url),
      unauthorized: () => assert.fail('every request is authenticated'),
      onUnexpectedError: (error) => assert.fail(String(error)),
    });
    context.after(() => listener.close(0));
    return listener;
  }

  #reply(url: string): Reply {
    return {
      status: 200,
      headers: {},
      body: url === '/whole' ? noise.repeat(128) : this.#pieces(),
      openAccount: (holder) => this.unsent.open('alice', holder),
      release: () => void this.released++,
    };
  }

  *#pieces(): Generator<string, void> {
    for (let index = 0; index < pieceCount; index++) {
      this.made++;
      yield noise;
    }
  }
}

/** Sends a request, reads nothing of the reply, and returns a function that ends the connection. */
type Open = (port: number, path: string) => Promise<() => void>;

const http1 =
  (headers: string): Open =>
  async (port, path) => {
    const socket = connect({ host: '127.0.0.1', port, ca: tls.ca, ALPNProtocols: ['http/1.1'] });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
    return () => void socket.destroy();
  };

const http2: Open = async (port, path) => {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: tls.ca, settings: { initialWindowSize: 0 } });
  session.on('error', () => undefined);
  session.request({ ':path': path }).on('error', () => undefined);
  return () => session.destroy();
};

const clients: Readonly<Record<string, Open>> = {
  'HTTP/1.1': http1(''),
  'HTTP/1.1 with gzip': http1('Accept-Encoding: gzip\r\n'),
  'HTTP/2 with a window of 0': http2,
};

suite('a client that does not read', () => {
  for (const [name, open] of Object.entries(clients)) {
    test(`${name}: encodes little of the reply until the client disconnects`, async (context) => {
      const server = new LargeServer();
      const listener = await server.start(60_000, context);
      const close = await open(listener.port, '/');
      await until('the reply waits for the client', () => server.unsent.bytes > 0);
      // Buffers of the kernel and the compressor are not counted; they are far smaller than the reply.
      assert.ok(server.made < pieceCount / 4, `${server.made} pieces were made`);
      assert.ok(server.unsent.bytes <= pieceLength, `${server.unsent.bytes} bytes are held`);
      close();
      await until('its place is free', () => server.released === 1);
      assert.equal(server.unsent.bytes, 0);
    });

    test(`${name}: is disconnected`, async (context) => {
      const server = new LargeServer();
      const listener = await server.start(50, context);
      const close = await open(listener.port, '/');
      await until('its place is free', () => server.released === 1);
      assert.equal(server.unsent.bytes, 0);
      assert.ok(server.made < pieceCount / 4, `${server.made} pieces were made`);
      close();
    });

    if (name.includes('gzip')) continue;
    test(`${name}: a reply in one piece counts as unsent until the client is disconnected`, async (context) => {
      const server = new LargeServer();
      const listener = await server.start(300, context);
      const closers = await Promise.all(Array.from({ length: 3 }, () => open(listener.port, '/whole')));
      await until('replies wait', () => server.unsent.bytes >= 128 * pieceLength);
      await until('all are disconnected', () => server.released === 3);
      assert.equal(server.unsent.bytes, 0);
      for (const close of closers) close();
    });
  }
});

test('disconnects a client that reads slowly when its waits add up', async (context) => {
  const server = new LargeServer();
  const listener = await server.start(200, context);
  const socket = connect({ host: '127.0.0.1', port: listener.port, ca: tls.ca, ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  socket.pause();
  const timer = setInterval(() => socket.read(32 << 10), 20);
  await until('its place is free', () => server.released === 1);
  assert.ok(server.made < pieceCount / 2, `${server.made} pieces were made`);
  clearInterval(timer);
  socket.destroy();
});

suite('a stream over HTTP/1', () => {
  /** Streams two lines and ends; returns what a client gets that sends these requests at once. */
  async function received(context: TestContext, requests: string): Promise<string> {
    const lines = [Buffer.from('first line\n'), Buffer.alloc(0), Buffer.from('second\n')];
    const server = await listen({
      host: '127.0.0.1',
      port: 0,
      tls,
      identify: () => ({ name: 'alice', uid: '', groups: [] }),
      handle: async ({ url }): Promise<Reply> =>
        url === '/stream'
          ? {
              status: 200,
              headers: {},
              stream: (sink) => {
                for (const line of lines) sink.write(line);
                sink.end();
              },
            }
          : { status: 200, headers: {}, body: 'after' },
      unauthorized: () => assert.fail('every request is authenticated'),
      onUnexpectedError: (error) => assert.fail(String(error)),
    });
    context.after(() => server.close(0));
    const socket = connect({ host: '127.0.0.1', port: server.port, ca: tls.ca, ALPNProtocols: ['http/1.1'] });
    let text = '';
    socket.setEncoding('latin1').on('data', (data: string) => (text += data));
    socket.write(requests);
    await once(socket, 'end');
    return text;
  }

  test('sends one chunk for each write, and serves further requests of the connection', async (context) => {
    const text = await received(
      context,
      'GET /stream HTTP/1.1\r\nHost: a\r\n\r\nGET /stream HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    const chunks = '\r\n\r\nb\r\nfirst line\n\r\n7\r\nsecond\n\r\n0\r\n\r\nHTTP/1.1 200';
    assert.equal(text.split(chunks).length, 3, text);
    assert.match(text, /\r\n\r\nafter$/);
  });

  test('sends the lines without chunks to a client of HTTP/1.0', async (context) => {
    const text = await received(context, 'GET /stream HTTP/1.0\r\n\r\n');
    assert.match(text, /\r\n\r\nfirst line\nsecond\n$/);
    assert.doesNotMatch(text, /transfer-encoding/i);
  });
});
