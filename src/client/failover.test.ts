import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { failover } from './failover.ts';
import { ManualClock } from './testing/clocks.ts';
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

  /** A server whose calls stay open, except that it answers probes while it is ready. */
  function silent(name: string, log: string[], isReady: () => boolean | undefined): Transport {
    const never = (call: ApiRequest): Promise<never> =>
      new Promise((_, reject) => call.signal?.addEventListener('abort', () => reject(call.signal?.reason as Error)));
    return {
      request: (call) => {
        log.push(`${call.method} ${call.path} ${name}`);
        const ready = call.path === '/readyz' ? isReady() : undefined;
        return ready === undefined
          ? never(call)
          : Promise.resolve({ status: ready ? 200 : 500, headers: {}, body: '' });
      },
      async *stream(call) {
        log.push(`stream ${name}`);
        yield `first of ${name}`;
        await never(call);
      },
      [Symbol.dispose]: () => undefined,
    };
  }

  for (const [state, ready] of [
    ['does not answer', undefined],
    ['is not ready', false],
  ] as const) {
    test(`ends the calls to a server that ${state}, when another one is ready`, async () => {
      const log: string[] = [];
      const clock = new ManualClock();
      using transport = failover([silent('a', log, () => ready), silent('b', log, () => true)], clock);
      const watch = linesOf(transport);
      const write = transport.request(post);
      const ended = Promise.all([
        assert.rejects(watch, /the API server does not answer or is not ready: using another one/),
        assert.rejects(write, /the API server does not answer/),
      ]);
      await clock.advance(5000);
      await ended;
      void linesOf(transport).catch(() => undefined); // stays open
      assert.deepEqual(log, ['stream a', 'POST / a', 'GET /readyz a', 'GET /readyz a', 'GET /readyz b', 'stream b']);
    });
  }

  test('ends no call to a server that is late once', async () => {
    const log: string[] = [];
    const clock = new ManualClock();
    const probes = (): number => log.filter((line) => line === 'GET /readyz a').length;
    const late = silent('a', log, () => (probes() === 1 ? undefined : true));
    using transport = failover([late, silent('b', log, () => true)], clock);
    const stop = new AbortController();
    const read = transport.request({ ...get, signal: stop.signal });
    await clock.advance(10_000);
    assert.deepEqual(new Set(log), new Set(['GET / a', 'GET /readyz a']));
    stop.abort(new Error('the caller stops'));
    await assert.rejects(read, /the caller stops/);
  });

  test('ends no call while no other server is ready, and probes only while there are calls', async () => {
    const log: string[] = [];
    const clock = new ManualClock();
    using transport = failover([silent('a', log, () => undefined), silent('b', log, () => undefined)], clock);
    const stop = new AbortController();
    const read = transport.request({ ...get, signal: stop.signal });
    await clock.advance(20_000);
    assert.deepEqual(new Set(log), new Set(['GET / a', 'GET /readyz a', 'GET /readyz b']));
    stop.abort(new Error('the caller stops'));
    await assert.rejects(read, /the caller stops/);
    await clock.advance(10_000);
    const probes = log.length;
    await clock.advance(20_000);
    assert.equal(log.length, probes);
    assert.equal(clock.nextMs, undefined);
  });
});
