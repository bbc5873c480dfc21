import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { createServer as createHttp2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { test } from 'node:test';

import type { CheckAction, CheckResult } from './check.ts';
import { check } from './check.ts';
import { count, noResults, waitAfter } from './thresholds.ts';

const run = (action: CheckAction, timeoutMs = 5000): Promise<CheckResult> =>
  check(action, { podIp: '127.0.0.1', ports: [], exec: async () => ({ code: 3, output: 'no' }) }, timeoutMs);

async function listening(
  server: { listen(port: number, host: string): unknown; address(): unknown } & NodeJS.EventEmitter,
) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test('HTTP: 200 to 399 succeed, redirects of the host are followed, and headers are those of the kubelet', async () => {
  let agent = '';
  const server = createHttp((request, response) => {
    agent = request.headers['user-agent'] ?? '';
    const { pathname } = new URL(request.url ?? '', 'http://x');
    if (pathname === '/loop') response.writeHead(302, { location: '/loop' });
    else if (pathname === '/away') response.writeHead(302, { location: 'http://other.example.org/' });
    else if (pathname === '/moved') response.writeHead(301, { location: '/200' });
    else if (pathname === '/hang') return;
    else response.writeHead(Number(pathname.slice(1)));
    response.end('body');
  });
  const port = await listening(server);
  try {
    const outcome = async (path: string): Promise<string> => (await run({ httpGet: { path, port } }, 300)).outcome;
    assert.equal(await outcome('/200'), 'success');
    assert.equal(await outcome('/304'), 'success');
    assert.equal(await outcome('/404'), 'failure');
    assert.equal(await outcome('/moved'), 'success');
    assert.equal(await outcome('/loop'), 'failure');
    assert.deepEqual((await run({ httpGet: { path: '/away', port } })).warning !== undefined, true);
    assert.deepEqual(await run({ httpGet: { path: '/503', port } }), {
      outcome: 'failure',
      output: 'HTTP probe failed with statuscode: 503',
    });
    assert.match((await run({ httpGet: { path: '/hang', port } }, 100)).output, /context deadline exceeded/);
    assert.equal(agent, 'kube-probe/1.35');
    assert.equal((await run({ httpGet: { port: 'unknown' } })).outcome, 'unknown');
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test('TCP: a connection succeeds; commands succeed with 0', async () => {
  const server = createServer();
  const port = await listening(server);
  assert.equal((await run({ tcpSocket: { port } })).outcome, 'success');
  server.close();
  await once(server, 'close');
  assert.equal((await run({ tcpSocket: { port } })).outcome, 'failure');
  assert.deepEqual(await run({ exec: { command: ['x'] } }), { outcome: 'failure', output: 'no' });
});

test('gRPC: SERVING succeeds', async () => {
  const asked: string[] = [];
  const server = createHttp2();
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const service = Buffer.concat(chunks).subarray(7).toString('utf8');
      asked.push(`${String(headers[':path'])} ${service}`);
      const state = service === 'down' ? 2 : 1;
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () =>
        stream.sendTrailers({ 'grpc-status': service === 'none' ? '5' : '0', 'grpc-message': 'x' }),
      );
      stream.end(service === 'none' ? Buffer.alloc(0) : Buffer.of(0, 0, 0, 0, 2, 8, state));
    });
  });
  const port = await listening(server);
  try {
    assert.equal((await run({ grpc: { port } })).outcome, 'success');
    assert.deepEqual(await run({ grpc: { port, service: 'down' } }), {
      outcome: 'failure',
      output: 'service unhealthy (responded with "NOT_SERVING")',
    });
    assert.match((await run({ grpc: { port, service: 'none' } })).output, /code = 5/);
    assert.equal(asked[0], '/grpc.health.v1.Health/Check ');
  } finally {
    server.close();
  }
  assert.equal((await run({ grpc: { port: 1 } })).outcome, 'failure');
});

test('thresholds count equal results in a row', () => {
  const probe = { successThreshold: 2, failureThreshold: 3 };
  let counted = noResults;
  const verdicts = ['success', 'success', 'failure', 'failure', 'success', 'failure', 'failure', 'failure'].map(
    (result) => {
      const { next, verdict } = count(counted, result as 'success' | 'failure', probe);
      counted = next;
      return verdict;
    },
  );
  assert.deepEqual(verdicts, [undefined, 'success', undefined, undefined, undefined, undefined, undefined, 'failure']);
});

test('a container that was never ready is checked more often during its first period', () => {
  let spent = 0;
  const times: number[] = [];
  for (let checks = 0; times.length < 7; checks++) {
    spent += waitAfter(checks, 1000).waitMs;
    times.push(spent);
  }
  assert.deepEqual(times, [50, 150, 350, 750, 1000, 2000, 3000]);
});
