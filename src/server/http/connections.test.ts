import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { connect as connectHttp2, constants } from 'node:http2';
import { after, before, suite, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { connect } from 'node:tls';
import { connect as connectTcp } from 'node:net';

import { issue, issueCa } from '../pki/issue.ts';
import { jsonReply } from '../reply.ts';
import { until } from '../testing/until.ts';
import type { ConnectionLimits } from './connections.ts';
import { listen } from './listener.ts';
import type { Listener, ListenerOptions } from './listener.ts';

let tls: ListenerOptions['tls'];
before(async () => {
  const validity = { now: new Date(), days: 1 };
  const ca = await issueCa('test-ca', validity);
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] };
  tls = { ...(await issue(ca, { use: 'server', commonName: 'test', names }, validity)), ca: ca.cert };
});

const someone = { name: 'someone', uid: '', groups: [] };
const megabyte = 'x'.repeat(1 << 20);

async function start(connections: Partial<ConnectionLimits> = {}): Promise<Listener> {
  return listen({
    host: '127.0.0.1',
    port: 0,
    tls,
    connections,
    identify: ({ headers }) => (headers.authorization === 'wrong' ? async () => undefined : someone),
    handle: async ({ url }) => jsonReply(200, url === '/large' ? megabyte.repeat(16) : '{}'),
    unauthorized: () => jsonReply(401, '{}'),
    onUnexpectedError: (error) => assert.fail(String(error)),
  });
}

const open = ({ port }: Listener): TLSSocket =>
  connect({ host: '127.0.0.1', port, ca: tls.ca, ALPNProtocols: ['http/1.1'] }).on('error', () => undefined);

const openSession = ({ port }: Listener): ClientHttp2Session =>
  connectHttp2(`https://127.0.0.1:${port}`, { ca: tls.ca }).on('error', () => undefined);

/** Resolves when the socket is closed, with or without an error. */
const closed = (emitter: NodeJS.EventEmitter): Promise<void> => new Promise((resolve) => emitter.on('close', resolve));

async function statusOf(session: ClientHttp2Session, headers: Record<string, string>): Promise<number> {
  const stream = session.request(headers).on('error', () => undefined);
  const [answer] = (await once(stream, 'response')) as [Record<string, number>];
  stream.close();
  return answer[':status'] ?? 0;
}

test('limits the connections of one address', async () => {
  const listener = await start({ maxPerAddress: 2 });
  const [first, second] = [open(listener), open(listener)];
  for (const socket of [first, second]) socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  // The server has finished the handshake too.
  await Promise.all([once(first, 'data'), once(second, 'data')]);
  const third = open(listener);
  await closed(third);
  first.destroy();
  let fourth = open(listener);
  await until('there is room again', () => {
    if (fourth.destroyed) fourth = open(listener);
    return fourth.authorized;
  });
  for (const socket of [second, fourth]) socket.destroy();
  await listener.close();
});

for (const [what, limits] of [
  ['in total', { max: 4 }],
  ['of one address', { maxPerAddress: 4 }],
] as const) {
  test(`closes connections without a handshake when there are too many ${what}`, async () => {
    const listener = await start(limits);
    const session = openSession(listener);
    assert.equal(await statusOf(session, { ':path': '/' }), 200);
    const idle = Array.from({ length: 20 }, () => connectTcp(listener.port, '127.0.0.1'));
    for (const socket of idle) socket.on('error', () => undefined).resume();
    await Promise.all(idle.slice(0, -3).map(closed));
    const another = openSession(listener);
    await once(another, 'connect');
    assert.equal(await statusOf(another, { ':path': '/' }), 200);
    assert.equal(await statusOf(session, { ':path': '/' }), 200, 'one that is established is left alone');
    for (const socket of idle) socket.destroy();
    for (const each of [session, another]) each.close();
    await listener.close();
  });

  test(`keeps established connections when there are too many ${what}`, async () => {
    const listener = await start(limits);
    const sessions = Array.from({ length: 4 }, () => openSession(listener));
    await Promise.all(sessions.map((session) => statusOf(session, { ':path': '/' })));
    await closed(
      connectTcp(listener.port, '127.0.0.1')
        .on('error', () => undefined)
        .resume(),
    );
    for (const session of sessions) assert.equal(await statusOf(session, { ':path': '/' }), 200);
    for (const session of sessions) session.close();
    await listener.close();
  });
}

test('disconnects a client that sends requests and does not read', async () => {
  const listener = await start({ stallMs: 30, sweepMs: 10 });
  const socket = open(listener);
  await once(socket, 'secureConnect');
  socket.pause();
  socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
  await until('the server has let go of it', async () => socket.destroyed || (await hasEnded(socket)));
  await listener.close(0);
});

/** Whether the other side has closed the connection, ignoring received data. */
async function hasEnded(socket: TLSSocket): Promise<boolean> {
  return new Promise((resolve) => socket.write('x', (error) => resolve(error instanceof Error)));
}

test('rejects further credentials of an address with too many failures, except cached ones', async () => {
  const listener = await start();
  const session = openSession(listener);
  const tries = Array.from({ length: 400 }, () => statusOf(session, { ':path': '/', authorization: 'wrong' }));
  const answers = Map.groupBy(await Promise.all(tries), (status) => status);
  assert.deepEqual([...answers.keys()], [401, 429]);
  assert.ok((answers.get(401)?.length ?? 0) >= 200);
  assert.equal(await statusOf(session, { ':path': '/', authorization: 'right' }), 200);
  session.close();
  await listener.close();
});

test('closes an idle HTTP/2 connection', async () => {
  const listener = await start({ idleMs: 50 });
  const idle = openSession(listener);
  await once(idle, 'connect');
  await closed(idle);
  await listener.close();
});

suite('limits of HTTP/2', () => {
  let listener: Listener;
  before(async () => {
    listener = await start();
  });
  after(() => listener.close(0));

  test('rejects a URL of 17 KB', async () => {
    const session = openSession(listener);
    assert.equal(await statusOf(session, { ':path': `/${'a'.repeat(16 * 1024)}` }), 414);
    assert.equal(await statusOf(session, { ':path': `/${'a'.repeat(16 * 1024 - 1)}` }), 200);
    session.close();
  });

  test('rejects headers beyond 64 KiB', async () => {
    const session = openSession(listener);
    const headers = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`x-${index}`, 'a'.repeat(2000)]));
    await assert.rejects(statusOf(session, { ':path': '/', ...headers }));
    session.destroy();
  });

  test('CVE-2023-44487 closes a connection that opens and resets streams', async () => {
    const session = openSession(listener);
    await once(session, 'connect');
    const isClosed = closed(session);
    for (let index = 0; index < 3000 && !session.closed; index++) {
      const stream = session.request({ ':path': '/' }).on('error', () => undefined);
      stream.close(constants.NGHTTP2_CANCEL);
      if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await isClosed;
    const other = openSession(listener);
    assert.equal(await statusOf(other, { ':path': '/' }), 200, 'the others do not notice');
    other.close();
  });
});

test('closes while a client has not started TLS', async () => {
  const listener = await start();
  const silent = connectTcp({ host: '127.0.0.1', port: listener.port }).on('error', () => undefined);
  await once(silent, 'connect');
  const session = openSession(listener);
  assert.equal(await statusOf(session, { ':path': '/' }), 200); // the first connection is accepted by then
  session.close();
  await listener.close(20);
  await closed(silent);
});
