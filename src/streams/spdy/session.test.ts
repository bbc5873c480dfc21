import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { FrameEncoder, FrameParser } from './frames.ts';
import type { SessionOptions, SpdyStream } from './session.ts';
import { SpdySession } from './session.ts';

/** Two connected sockets in memory, each with a small buffer. */
function socketPair(): [Duplex, Duplex] {
  const make = (other: () => Duplex): Duplex =>
    new Duplex({
      highWaterMark: 16 * 1024,
      read() {
        const resume = waiting.get(this);
        waiting.delete(this);
        resume?.();
      },
      write(chunk: Buffer, _encoding, done) {
        const peer = other();
        if (peer.destroyed || peer.push(chunk)) done();
        else waiting.set(peer, done);
      },
      final(done) {
        other().push(null);
        done();
      },
    });
  const waiting = new Map<Duplex, () => void>();
  const one: Duplex = make(() => two);
  const two: Duplex = make(() => one);
  return [one, two];
}

function connected(options: Partial<SessionOptions> = {}) {
  const [near, far] = socketPair();
  const accepted: SpdyStream[] = [];
  const client = new SpdySession(near, { role: 'client' });
  const server = new SpdySession(far, {
    role: 'server',
    onStream(stream) {
      accepted.push(stream);
      return true;
    },
    ...options,
  });
  return { client, server, accepted, near, far };
}

async function text(stream: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const until = async (isTrue: () => boolean): Promise<void> => {
  const deadline = Date.now() + 5000;
  while (!isTrue()) {
    assert.ok(Date.now() < deadline, 'the condition was not met');
    await delay(2);
  }
};

suite('a SPDY session', () => {
  test('carries streams in both directions, with a half-close of each', async () => {
    const { client, accepted } = connected();
    const stream = client.open({ streamtype: 'data', port: '80' });
    stream.end('ping');
    await until(() => accepted.length === 1);
    const [other] = accepted;
    assert.ok(other);
    assert.deepEqual(other.headers, { streamtype: 'data', port: '80' });
    assert.equal(await text(other), 'ping');
    other.end('pong');
    assert.equal(await text(stream), 'pong');
    await until(() => client.size === 0);
    client.close();
  });

  test('delivers 8 MiB on each of several streams unchanged', async () => {
    const { client, accepted } = connected();
    const data = Buffer.alloc(8 << 20, 'abcdefg');
    const streams = [1, 2, 3].map((port) => client.open({ port: String(port) }));
    for (const stream of streams) stream.end(data);
    await until(() => accepted.length === 3);
    const received = await Promise.all(accepted.map(text));
    for (const each of received) assert.ok(Buffer.from(each).equals(data));
    client.close();
  });

  test('a reader that stalls stops the sender, with little in memory', async () => {
    const { client, accepted } = connected({ maxUnreadBytes: 64 * 1024 });
    const stream = client.open({});
    let sent = 0;
    const send = (): void => {
      while (sent < 50 << 20) {
        sent += 16_384;
        if (!stream.write(Buffer.alloc(16_384))) break;
      }
    };
    stream.on('drain', send);
    send();
    await until(() => accepted.length === 1);
    await delay(50);
    assert.ok((accepted[0]?.readableLength ?? 0) < 256 * 1024);
    assert.ok(sent < 1 << 20, `${sent} bytes were taken`);
    accepted[0]?.resume();
    await until(() => sent >= 50 << 20);
    client.close();
  });

  test('refuses streams above the limit and goes on', async () => {
    const { client, accepted } = connected({ maxStreams: 2 });
    const streams = [1, 2, 3].map(() => client.open({}));
    await until(() => streams[2]?.destroyed === true);
    assert.equal(accepted.length, 2);
    assert.equal(streams[0]?.destroyed, false);
    client.close();
  });

  test('what a stream received before its end can be read after the connection is closed', async () => {
    const { client, server, accepted } = connected();
    const stream = client.open({});
    await until(() => accepted.length === 1);
    accepted[0]?.end('last words');
    await until(() => stream.readableLength > 0);
    server.close();
    await client.closed;
    assert.equal(await text(stream), 'last words');
  });

  test('a stream that has not ended fails when the connection is lost', async () => {
    const { client, far } = connected();
    const stream = client.open({});
    const failed = once(stream, 'error');
    far.destroy();
    far.emit('close');
    client.close();
    assert.match(String(await failed), /connection was lost/);
  });

  test('answers a PING with its id, and does not answer replies', async () => {
    const [near, far] = socketPair();
    const session = new SpdySession(far, { role: 'server' });
    const parser = new FrameParser();
    const received: unknown[] = [];
    near.on('data', (chunk: Buffer) => received.push(...parser.push(chunk)));
    const encoder = new FrameEncoder();
    near.write(encoder.encode({ type: 'ping', id: 2 }));
    near.write(encoder.encode({ type: 'ping', id: 7 }));
    await until(() => received.length > 0);
    assert.deepEqual(received, [{ type: 'ping', id: 7 }]);
    session.close();
  });

  test('a peer that sends PINGs and reads nothing does not fill the memory', async () => {
    const [near, far] = socketPair();
    const session = new SpdySession(far, { role: 'server' });
    const ping = new FrameEncoder().encode({ type: 'ping', id: 1 });
    const flood = Buffer.concat(Array.from({ length: 1000 }, () => ping));
    let written = 0;
    for (; written < 20 << 20 && near.write(flood); written += flood.length);
    await delay(50);
    assert.ok(far.writableLength < 1 << 20, `${far.writableLength} bytes wait`);
    assert.ok(written < 4 << 20);
    session.close();
    near.destroy();
  });

  const protocolErrors: readonly { readonly name: string; readonly bytes: (encoder: FrameEncoder) => Buffer }[] = [
    {
      name: 'opens a stream with an even id',
      bytes: (encoder) => encoder.encode({ type: 'open', stream: 2, headers: {}, isLast: false }),
    },
    {
      name: 'opens a stream twice',
      bytes: (encoder) =>
        Buffer.concat([3, 3].map((stream) => encoder.encode({ type: 'open', stream, headers: {}, isLast: false }))),
    },
    {
      name: 'sends bytes that are no frame',
      bytes: () => Buffer.from('GET / HTTP/1.1\r\n\r\n\x80\x80\x80\x80\x80\x80', 'latin1'),
    },
  ];
  for (const { name, bytes } of protocolErrors) {
    test(`closes the connection of a peer that ${name}`, async () => {
      const { server, near } = connected({ idleMs: 200 });
      near.write(bytes(new FrameEncoder()));
      await server.closed;
    });
  }

  test('closes an idle connection', async () => {
    const { server } = connected({ idleMs: 20 });
    await server.closed;
  });
});
