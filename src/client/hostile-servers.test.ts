// The memory and time that a client spends on one request are bounded, whatever the server sends.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { configMapKind } from '../api/kinds/core/configmap/kind.ts';
import { until } from '../server/testing/until.ts';
import { Client } from './client.ts';
import { discover } from './discovery.ts';
import { overHttps } from './https.ts';
import { Informer } from './informer.ts';
import { maxResponseBytes, ObjectBudget } from './limits.ts';
import { retrying } from './retry.ts';
import { hostileAnswers, hostileServer } from './testing/hostile-servers.ts';

/** A budget that is small enough for a quick test. */
const limit = { objects: 5000, bytes: 8 << 20 };
const name = { namespace: 'default', name: 'a' };

/** Operations of a client; each rejects with the error that the server caused. */
const uses: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  get: (client) => client.get(configMapKind, name),
  create: (client) => client.create(configMapKind, { metadata: name }),
  list: (client) => client.list(configMapKind, { check: (usage) => new ObjectBudget(limit).use(name, usage) }),
  discovery: (client) => discover(client),
  async watch(client) {
    let bytes = 0;
    const { signal } = new AbortController();
    for await (const event of client.watch(configMapKind, { resourceVersion: '', signal })) {
      bytes += event.bytes;
      if (bytes > limit.bytes) throw new Error('a watch need not end');
    }
    throw new Error('the watch ended');
  },
  async informer(client) {
    const errors: unknown[] = [];
    const budget = new ObjectBudget(limit);
    const informer = new Informer(client, configMapKind, {
      budget,
      onError: (error) => errors.push(error),
      backoff: { baseMs: 1, maxMs: 10 },
    });
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    try {
      await until('it has reported an error or an excess', () => errors.length > 1 || informer.excess !== undefined);
      const held = informer.list().reduce((sum, object) => sum + JSON.stringify(object).length, 0);
      assert.ok(informer.list().length <= limit.objects && held <= limit.bytes, `it holds ${held} bytes`);
    } finally {
      stop.abort();
      await running;
    }
    throw informer.excess ?? errors.at(-1);
  },
};

const answersJson = /page/;
/** These servers never complete a response, so the request ends with its timeout. */
const isSilent = /^(nothing|half)/;
const asksForMany = new Set(['list', 'watch', 'informer']);

/** What the kernel buffers in addition to what the client reads. */
const kernelBuffers = 16 << 20;

for (const [what, answer] of Object.entries(hostileAnswers)) {
  describe(`a server that sends ${what}`, { concurrency: true }, () => {
    for (const [use, run] of Object.entries(uses)) {
      test(use, async () => {
        await using server = await hostileServer(answer);
        using transport = overHttps(
          { server: server.url, credentials: async () => ({}) },
          { timeoutMs: isSilent.test(what) ? 300 : 60_000 },
        );
        const client = new Client(transport);
        // A page is valid JSON, which operations other than list accept.
        if (answersJson.test(what) && !asksForMany.has(use)) await run(client);
        else await assert.rejects(run(client), (error) => error instanceof Error && error.message !== '');
        for (const sent of server.sent()) {
          assert.ok(sent <= maxResponseBytes + kernelBuffers, `the client received ${sent} bytes over one connection`);
        }
      });
    }
  });
}

test('caps a Retry-After of a hundred years at a minute', async () => {
  const waits: number[] = [];
  const clock = {
    now: () => 0,
    elapsed: () => 0,
    resumedAt: () => 0,
    after(ms: number, run: () => void) {
      waits.push(ms);
      queueMicrotask(run);
      return () => {};
    },
  };
  await using server = await hostileServer(() => [
    'HTTP/1.1 503 Busy\r\nRetry-After: 3153600000\r\nContent-Length: 0\r\n\r\n',
  ]);
  using transport = overHttps({ server: server.url, credentials: async () => ({}) });
  await assert.rejects(new Client(retrying(transport, { clock, attempts: 3 })).get(configMapKind, name));
  assert.deepEqual(waits, [60_000, 60_000]);
});

test('an informer over its budget keeps its cache, and recovers when the list fits again', async () => {
  const bookmark = '"annotations":{"k8s.io/initial-events-end":"true"}';
  const events = (names: readonly string[]): string =>
    [
      ...names.map(
        (each) => `{"type":"ADDED","object":{"metadata":{"name":"${each}","uid":"${each}","resourceVersion":"1"}}}`,
      ),
      `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9",${bookmark}}}}`,
    ].join('\n');
  const many = Array.from({ length: 20 }, (_, index) => `b${index}`);
  const answers = [['a', 'b'], many, many, ['c']];
  const clock = { now: () => 0, elapsed: () => 0, resumedAt: () => 0, after: soon };
  let isOver = false;
  const excesses: boolean[] = [];
  const informer = new Informer(
    new Client({
      request: () => assert.fail('no request was expected'),
      async *stream({ signal }) {
        const names = answers.shift();
        if (names === undefined) {
          isOver = true;
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
          return;
        }
        for (const line of events(names).split('\n')) yield line;
        if (names[0] === 'a') throw Object.assign(new SyntaxError('a new beginning is needed'));
      },
      [Symbol.dispose]() {},
    }),
    configMapKind,
    {
      budget: new ObjectBudget({ objects: 10, bytes: 1 << 20 }),
      clock,
      onExcess: () => excesses.push(informer.excess !== undefined),
    },
  );
  const stop = new AbortController();
  const seen: string[] = [];
  informer.subscribe({ added: ({ metadata }) => seen.push(metadata.name ?? '') });
  const running = informer.run(stop.signal);
  await until('it follows', () => isOver);
  stop.abort();
  await running;
  assert.deepEqual(excesses, [true, false]);
  assert.deepEqual(seen, ['a', 'b', 'c']);
  assert.deepEqual(
    informer.list().map(({ metadata }) => metadata.name),
    ['c'],
  );
});

/** Ends waits immediately, except timeouts that only matter if no data arrives. */
function soon(ms: number, run: () => void): () => void {
  if (ms > 60_000) return () => {};
  const timer = setImmediate(run);
  return () => clearImmediate(timer);
}
