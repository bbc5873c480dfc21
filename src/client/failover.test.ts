import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { failover } from './failover.ts';
import type { ApiRequest, Transport } from './transport.ts';

type Behaviour = 'works' | 'is down' | 'is shutting down';

/** A server that logs its requests. */
function server(name: string, log: string[], behaviour: () => Behaviour): Transport {
  const answer = ({ method }: ApiRequest): number => {
    log.push(`${method} ${name}`);
    if (behaviour() === 'is down') throw new Error(`${name} is down`);
    return behaviour() === 'works' ? 200 : 503;
  };
  return {
    request: async (call) => ({ status: answer(call), headers: {}, body: name }),
    async *stream(call) {
      if (answer(call) === 503) throw new Error('503');
      yield name;
    },
    [Symbol.dispose]: () => void log.push(`close ${name}`),
  };
}

async function linesOf(transport: Transport): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of transport.stream({ method: 'GET', path: '/' })) lines.push(line);
  return lines;
}

suite('several servers', () => {
  const get: ApiRequest = { method: 'GET', path: '/' };
  const post: ApiRequest = { method: 'POST', path: '/' };

  for (const failure of ['is down', 'is shutting down'] as const) {
    test(`sends a read to the next server when one ${failure}, and stays there`, async () => {
      const log: string[] = [];
      using transport = failover([server('a', log, () => failure), server('b', log, () => 'works')]);
      assert.equal((await transport.request(get)).body, 'b');
      assert.equal((await transport.request(get)).body, 'b');
      assert.deepEqual(log, ['GET a', 'GET b', 'GET b']);
    });
  }

  test('does not send a write again, which may be done', async () => {
    const log: string[] = [];
    using transport = failover([server('a', log, () => 'is down'), server('b', log, () => 'works')]);
    await assert.rejects(transport.request(post), /a is down/);
    assert.equal((await transport.request(post)).body, 'b');
    assert.deepEqual(log, ['POST a', 'POST b']);
  });

  test('fails when every server fails', async () => {
    const log: string[] = [];
    using transport = failover([server('a', log, () => 'is down'), server('b', log, () => 'is down')]);
    await assert.rejects(transport.request(get), /b is down/);
    assert.deepEqual(log, ['GET a', 'GET b']);
  });

  test('starts the next stream at another server after one failed', async () => {
    const log: string[] = [];
    using transport = failover([server('a', log, () => 'is down'), server('b', log, () => 'works')]);
    await assert.rejects(linesOf(transport), /a is down/);
    assert.deepEqual(await linesOf(transport), ['b']);
  });

  test('stays at a server when the caller cancels', async () => {
    const log: string[] = [];
    using transport = failover([server('a', log, () => 'is down'), server('b', log, () => 'works')]);
    await assert.rejects(transport.request({ ...get, signal: AbortSignal.abort() }), /a is down/);
    assert.deepEqual(log, ['GET a']);
  });
});
