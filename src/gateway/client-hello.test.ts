import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { connect } from 'node:tls';

import { readClientHello } from './client-hello.ts';

/** The first bytes that a TLS client sends. */
async function helloFor(servername: string): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const client = connect({ host: '127.0.0.1', port, servername, ALPNProtocols: ['fairlead-gateway'] });
  client.on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [NodeJS.ReadableStream & { destroy(): void }];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

/** The same handshake in records of a few bytes. */
function fragmented(hello: Buffer, size: number): Buffer {
  const body = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

test('reads the server name, also of a fragmented handshake and from any number of bytes', async () => {
  const name = 'web.shop.prod.eu-1';
  const hello = await helloFor(name);
  const complete = { state: 'complete', serverName: name };
  assert.deepEqual(readClientHello(hello), complete);
  assert.deepEqual(readClientHello(Buffer.concat([hello, Buffer.from('more')])), complete);
  assert.deepEqual(readClientHello(fragmented(hello, 100)), complete);
  assert.deepEqual(readClientHello(await helloFor('')), { state: 'complete', serverName: '' });
  for (let length = 0; length < hello.length; length++)
    assert.equal(readClientHello(hello.subarray(0, length)).state, 'incomplete', String(length));
});

test('never throws and never reads beyond a hello, whatever bytes arrive', async () => {
  const hello = await helloFor('web.shop.east');
  const seed = Date.now() % 2 ** 31;
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state % below;
  };
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.from(hello.subarray(0, 1 + random(hello.length)));
    for (let each = 0; each < 1 + random(4); each++) bytes[random(bytes.length)] = random(256);
    const { state: result } = readClientHello(bytes);
    assert.ok(['complete', 'incomplete', 'invalid'].includes(result), `seed ${seed}`);
  }
  assert.equal(readClientHello(Buffer.from('GET / HTTP/1.1\r\n')).state, 'invalid');
  assert.equal(readClientHello(Buffer.from([22, 3, 1, 0xff, 0xff])).state, 'invalid');
  assert.equal(readClientHello(Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])).state, 'invalid');
});
