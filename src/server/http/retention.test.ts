// Closed watches leave no handle, no counter and no object behind. Resident memory depends on the allocator:
// see src/cli/process/idle-memory.ts.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { Session } from 'node:inspector/promises';
import { connect } from 'node:tls';
import { test } from 'node:test';

import type { ApiRequest } from '../reply.ts';
import type { RunningServer } from '../server.ts';
import { startHttpsServer } from '../testing/https-server.ts';
import { until } from '../testing/until.ts';

const perRound = 60;
const path = '/api/v1/services?watch=1';

/** The sum of a metric over its labels. */
async function metric(server: RunningServer, name: string): Promise<number> {
  const request: ApiRequest = {
    method: 'GET',
    url: '/metrics',
    header: () => undefined,
    body: async () => Buffer.alloc(0),
    user: { name: 'robot', uid: '7', groups: ['system:masters'] },
  };
  const reply = await server.handle(request);
  assert.ok('body' in reply && typeof reply.body === 'string');
  const lines = reply.body.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'));
  return lines.reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Opens watches over both protocols and returns a function that drops their connections. */
async function openWatches(port: number): Promise<() => void> {
  const tls = { host: '127.0.0.1', port, rejectUnauthorized: false };
  const sockets = Array.from({ length: perRound }, () => connect({ ...tls, ALPNProtocols: ['http/1.1'] }));
  for (const socket of sockets) {
    socket.on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\n\r\n`);
  }
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  session.on('error', () => undefined);
  for (let index = 0; index < perRound; index++) {
    session.request({ ':path': path, authorization: 'Bearer secret' }).on('error', () => undefined);
  }
  await Promise.all(sockets.map((socket) => once(socket, 'data')));
  return () => {
    for (const socket of sockets) socket.destroy();
    session.destroy();
  };
}

const handles = (): number =>
  process.getActiveResourcesInfo().filter((name) => /TCP|TLS|HTTP|Timeout/i.test(name)).length;

async function heapUsed(): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
  return process.memoryUsage().heapUsed;
}

test('opening and dropping watches leaks nothing', async () => {
  await using running = await startHttpsServer();
  const { server } = running;
  const rounds: { readonly handles: number; readonly heap: number }[] = [];
  for (let round = 0; round < 5; round++) {
    const drop = await openWatches(server.port);
    const watches = (): Promise<number> => metric(server, 'apiserver_longrunning_requests');
    await until('all watches are open', async () => (await watches()) === 2 * perRound);
    drop();
    await until('no watch is left', async () => (await watches()) === 0);
    assert.equal(await metric(server, 'fairlead_unsent_bytes'), 0);
    // The first round also allocates what is allocated once: compiled code, caches, further acceptors.
    const settled = rounds[1]?.handles;
    await until('the handles are as many as before', () => settled === undefined || handles() <= settled);
    rounds.push({ handles: handles(), heap: await heapUsed() });
  }
  const watches = 3 * 2 * perRound;
  const grown = (rounds[4]?.heap ?? Infinity) - (rounds[1]?.heap ?? 0);
  assert.ok(grown < watches * 2048, `${grown} bytes are left of ${watches} watches`);
});
