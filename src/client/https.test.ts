import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { configMapKind } from '../api/kinds/core/configmap/kind.ts';
import { Client } from './client.ts';
import type { Clock } from './clock.ts';
import type { Credentials } from './http-socket.ts';
import { overHttps } from './https.ts';
import { retrying } from './retry.ts';
import { hasStatusCode } from './transport.ts';

interface Peer extends AsyncDisposable {
  readonly server: string;
  readonly requests: readonly IncomingMessage[];
}

/** A server with a scripted handler. */
async function peer(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Peer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A cast for TCP, which always has a port.
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const anonymous = async (): Promise<Credentials> => ({});

test('a request carries method, path, body, media types and token, and the path of the server URL as prefix', async () => {
  await using server = await peer((_, response) => void response.end('{"metadata":{}}'));
  using transport = overHttps({ server: `${server.server}/k8s/`, credentials: async () => ({ token: 't' }) });
  await new Client(transport).create(configMapKind, { metadata: { name: 'ä', namespace: 'n' } });
  const [request] = server.requests;
  assert.equal(request?.method, 'POST');
  assert.equal(request?.url, '/k8s/api/v1/namespaces/n/configmaps?fieldManager=fairlead');
  assert.equal(request?.headers.authorization, 'Bearer t');
  assert.equal(request?.headers['content-type'], 'application/json');
});

test('refreshes a rejected token once', async () => {
  await using server = await peer((request, response) => {
    response.statusCode = request.headers.authorization === 'Bearer new' ? 200 : 401;
    response.end('{"metadata":{}}');
  });
  const credentials = async (isRefused: boolean): Promise<Credentials> => ({ token: isRefused ? 'new' : 'old' });
  using transport = overHttps({ server: server.server, credentials });
  await new Client(transport).get(configMapKind, { name: 'a', namespace: 'n' });
  assert.equal(server.requests.length, 2);

  using stranger = overHttps({ server: server.server, credentials: anonymous });
  await assert.rejects(new Client(stranger).get(configMapKind, { name: 'a', namespace: 'n' }), (error) =>
    hasStatusCode(error, 401),
  );
});

test('a stream yields whole lines however they were split, and ends with the signal', async () => {
  const ö = Buffer.from('"ö"\n');
  await using server = await peer((_, response) => {
    response.write('1\n2');
    response.write(Buffer.concat([Buffer.from('2\n'), ö.subarray(0, 2)]));
    setImmediate(() => response.write(ö.subarray(2)));
  });
  using transport = overHttps({ server: server.server, credentials: anonymous });
  const stop = new AbortController();
  const lines: string[] = [];
  const read = async (): Promise<void> => {
    for await (const line of transport.stream({ method: 'GET', path: '/', signal: stop.signal })) {
      lines.push(line);
      if (lines.length === 3) stop.abort(new Error('enough'));
    }
  };
  await assert.rejects(read());
  assert.deepEqual(lines, ['1', '22', '"ö"']);
});

test('drops an incomplete last line when the server ends a stream', async () => {
  await using server = await peer((_, response) => void response.end('1\n\n2\n3'));
  using transport = overHttps({ server: server.server, credentials: anonymous });
  const lines: string[] = [];
  for await (const line of transport.stream({ method: 'GET', path: '/' })) lines.push(line);
  assert.deepEqual(lines, ['1', '2']);
});

test('throws if the connection of a stream is lost', async () => {
  await using server = await peer((request, response) => {
    response.write('1\n2', () => request.socket.destroy());
  });
  using transport = overHttps({ server: server.server, credentials: anonymous });
  const lines: string[] = [];
  const read = async (): Promise<void> => {
    for await (const line of transport.stream({ method: 'GET', path: '/' })) lines.push(line);
  };
  await assert.rejects(read());
  assert.deepEqual(lines, ['1']);
});

test('times out if the server does not respond', async () => {
  await using server = await peer(() => {});
  using transport = overHttps({ server: server.server, credentials: anonymous }, { timeoutMs: 20 });
  await assert.rejects(transport.request({ method: 'GET', path: '/' }), { name: 'TimeoutError' });
  const stream = transport.stream({ method: 'GET', path: '/' });
  await assert.rejects(stream[Symbol.asyncIterator]().next(), { name: 'TimeoutError' });
});

test('retries a busy server only with Retry-After', async () => {
  const statuses = [429, 503, 500];
  await using server = await peer((_, response) => {
    const status = statuses.shift() ?? 200;
    response.writeHead(status, status === 500 ? {} : { 'retry-after': '2' }).end('{}');
  });
  const waits: number[] = [];
  const clock: Clock = {
    now: () => 0,
    elapsed: () => 0,
    after(ms, run) {
      waits.push(ms);
      queueMicrotask(run);
      return () => {};
    },
    resumedAt: () => 0,
  };
  using transport = retrying(overHttps({ server: server.server, credentials: anonymous }), { clock });
  assert.equal((await transport.request({ method: 'GET', path: '/' })).status, 500);
  assert.deepEqual(waits, [2000, 2000]);
});
