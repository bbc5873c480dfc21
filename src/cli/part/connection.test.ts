import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { failure } from '../../api/errors.ts';
import type { ApiResponse, Transport } from '../../client/transport.ts';
import { watchedConnection } from './connection.ts';

const server = 'https://192.0.2.1:6443';

/** A server that returns the response of `next`, and the log about it. */
function setUp() {
  const state: { next: () => ApiResponse; lines: readonly string[] | Error } = { next: () => answer(200), lines: [] };
  const transport: Transport = {
    request: async () => state.next(),
    async *stream() {
      if (state.lines instanceof Error) throw state.lines;
      yield* state.lines;
    },
    [Symbol.dispose]: () => {},
  };
  const logged: string[] = [];
  const log = pino({ level: 'info' }, { write: (line) => logged.push(JSON.parse(line).msg) });
  const metrics = new Registry();
  return { state, logged, metrics, connection: watchedConnection(transport, { server, log, metrics }) };
}

const answer = (status: number): ApiResponse => ({ status, headers: {}, body: '' });
const refused = (): never => {
  throw Object.assign(new Error('connect ECONNREFUSED 192.0.2.1:6443'), { code: 'ECONNREFUSED' });
};
const get = { method: 'GET', path: '/' } as const;

test('reports an unreachable server once, and its return', async () => {
  const { state, logged, connection } = setUp();
  await connection.transport.request(get);
  assert.deepEqual(connection.problems(), []);
  state.next = refused;
  for (let count = 0; count < 3; count++) await assert.rejects(connection.transport.request(get));
  assert.deepEqual(connection.problems(), [
    'requests to the API server https://192.0.2.1:6443 fail: connect ECONNREFUSED 192.0.2.1:6443',
  ]);
  state.next = () => answer(404); // any answer proves that the server runs
  await connection.transport.request(get);
  assert.deepEqual(connection.problems(), []);
  assert.deepEqual(logged, ['requests to the API server fail, retrying', 'requests to the API server succeed again']);
});

test('reports rejected credentials, and no requests that the part aborted', async () => {
  const { state, connection } = setUp();
  state.next = () => answer(401);
  await connection.transport.request(get);
  assert.deepEqual(connection.problems(), [
    'requests to the API server https://192.0.2.1:6443 fail: it rejects the credentials (401)',
  ]);
  state.next = () => answer(200);
  await connection.transport.request(get);
  state.next = refused;
  await assert.rejects(connection.transport.request({ ...get, signal: AbortSignal.abort() }));
  assert.deepEqual(connection.problems(), []);
});

test('reports no requests that end with the connection', async () => {
  const { state, logged, connection } = setUp();
  state.next = refused;
  connection.transport[Symbol.dispose]();
  await assert.rejects(connection.transport.request(get));
  assert.deepEqual([connection.problems(), logged], [[], []]);
});

test('a stream that cannot connect is a problem until its next first line, and an API error is none', async () => {
  const { state, connection } = setUp();
  const read = async (): Promise<string[]> => {
    const lines: string[] = [];
    for await (const line of connection.transport.stream(get)) lines.push(line);
    return lines;
  };
  state.lines = new Error('no route to host');
  await assert.rejects(read());
  assert.equal(connection.problems().length, 1);
  state.lines = ['a', 'b'];
  assert.deepEqual(await read(), ['a', 'b']);
  assert.deepEqual(connection.problems(), []);
  state.lines = failure({ code: 410, reason: 'Expired', message: 'too old' });
  await assert.rejects(read());
  assert.deepEqual(connection.problems(), []);
});

test('counts requests like client-go', async () => {
  const { state, metrics, connection } = setUp();
  await connection.transport.request(get);
  state.next = () => answer(409);
  await connection.transport.request({ ...get, method: 'PUT' });
  state.next = refused;
  await assert.rejects(connection.transport.request(get));
  const text = await metrics.metrics();
  for (const labels of ['code="200",method="GET"', 'code="409",method="PUT"', 'code="<error>",method="GET"']) {
    assert.ok(text.includes(`rest_client_requests_total{${labels},host="192.0.2.1:6443"} 1`), labels);
  }
});

test('reports nothing about requests that end because it was closed', async () => {
  const { state, logged, connection } = setUp();
  connection.transport[Symbol.dispose]();
  state.next = refused;
  await assert.rejects(connection.transport.request(get));
  assert.deepEqual(logged, []);
  assert.deepEqual(connection.problems(), []);
});
