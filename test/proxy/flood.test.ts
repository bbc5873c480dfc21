// Overloaded listeners: no descriptors left, thousands of connections per second, and malformed data.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { loadLibc } from '../../src/proxy/userspace/native/libc.ts';
import type { Route } from '../../src/proxy/routes/route.ts';
import {
  ask,
  forward,
  named,
  namedUdp,
  port,
  route,
  serve,
  target,
  udpClient,
  vips,
} from '../../src/proxy/userspace/testing/echo.ts';
import type { UserspaceOptions } from '../../src/proxy/userspace/options.ts';
import { until } from '../../src/server/testing/until.ts';
import { unlessInstalled } from '../harness/needs.ts';
import type { Answer, Question } from './flood/relay.ts';

const program = fileURLToPath(new URL('./flood/relay.ts', import.meta.url));

/** A process with listeners and a limit of descriptors. */
class Relay implements AsyncDisposable {
  readonly #child: ChildProcess;
  #nextId = 1;

  constructor(options: UserspaceOptions, descriptors: number) {
    const words = ['-c', `ulimit -n ${descriptors} && exec "$0" "$@"`, process.execPath, program];
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const;
    this.#child = spawn('bash', [...words, JSON.stringify(options)], { stdio: [...stdio] });
    this.#child.setMaxListeners(0);
  }

  async ask(question: Omit<Question, 'id'> = {}): Promise<Answer> {
    const id = this.#nextId++;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const listen = (answer: Answer): void => void (answer.id === id && resolve(answer));
    this.#child.on('message', listen);
    this.#child.send({ id, ...question });
    try {
      return await promise;
    } finally {
      this.#child.off('message', listen);
    }
  }

  set = async (...routes: readonly Route[]): Promise<void> => void (await this.ask({ routes }));

  async value(name: string): Promise<number> {
    const { metrics } = await this.ask();
    const line = metrics.split('\n').find((each) => each.startsWith(`fairlead_proxy_${name} `));
    return Number(line?.split(' ').at(-1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}

/** Runs up to this number concurrently, `total` in all. */
async function inParallel(width: number, total: number, run: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < total) await run(next++);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** A misbehaving client: it disconnects, or sends garbage and resets the connection. */
async function rudeClient(host: string, index: number): Promise<void> {
  const socket = connect({ host, port });
  socket.on('error', () => {});
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  if (index % 2 === 0) socket.destroy();
  else socket.write(randomBytes(index % 3000), () => socket.resetAndDestroy());
  await closed;
}

const isNative = (await loadLibc()) !== undefined;
for (const engine of ['native', 'node'] as const) {
  const skip = engine === 'native' && !isNative ? 'native calls cannot be had here' : unlessInstalled('bash');
  describe(`the ${engine} engine, flooded`, { skip }, () => {
    const vip = vips();

    test('without descriptors connections are rejected, endpoints are not blamed, and it recovers', async () => {
      // Limits that are never reached: descriptors run out first.
      const limits = { connections: 10_000, connectionsPerAddress: 10_000 };
      await using relay = new Relay({ engine, limits }, 128);
      await using pod = await named('127.0.0.1', 'a');
      const address = vip();
      await relay.set(route(address, forward(target(pod))));
      const answered = new Set<Socket>();
      const clients = Array.from({ length: 200 }, () => {
        const socket = connect({ host: address, port });
        socket.on('data', () => answered.add(socket)).on('error', () => {});
        return socket;
      });
      await until('some clients are served', () => answered.size > 10);
      await until(
        'some clients are rejected',
        async () => (await relay.value('connections_total{outcome="limited"}')) > 0,
      );
      for (const client of clients) client.destroy();
      await until('descriptors are free again', async () => (await ask(address)) === 'a\nhi');
      assert.equal(await relay.value('dial_failures_total{protocol="TCP"}'), 0);
      await until('all connections are closed', async () => (await relay.value('connections')) === 0);
    });

    test('endpoints change under load with misbehaving clients: no other connection is lost, and memory is bounded', async (context) => {
      const total = Number(process.env['FLOOD_CONNECTIONS'] ?? 6000);
      await using relay = new Relay({ engine }, 4096);
      const pods = await Promise.all(
        ['a', 'b', 'c', 'd'].map((name) => serve('127.0.0.1', (socket) => socket.resume().end(name))),
      );
      const address = vip();
      const use = (round: number): Promise<void> => {
        const some = pods.filter((_, index) => (round + index) % 3 !== 0);
        return relay.set(route(address, forward(...some.map((pod) => target(pod)))));
      };
      await use(0);
      const answers = new Map<string, number>();
      const flood = (count: number): Promise<void> =>
        inParallel(64, count, async (index) => {
          if (index % 100 === 0) await use(index / 100);
          if (index % 10 === 0) return rudeClient(address, index / 10);
          const answer = await ask(address);
          answers.set(answer, (answers.get(answer) ?? 0) + 1);
        });
      await flood(total / 2);
      const { residentBytes: before } = await relay.ask();
      await flood(total / 2);
      const { residentBytes: after } = await relay.ask();
      context.diagnostic(`resident after ${total / 2} and ${total} connections: ${before} and ${after} bytes`);
      assert.deepEqual([...answers.keys()].toSorted(), ['a', 'b', 'c', 'd']);
      await until('all connections are closed', async () => (await relay.value('connections')) === 0);
      assert.ok(after - before < 32 << 20, `memory grew from ${before} to ${after} bytes`);
      for (const pod of pods) await pod[Symbol.asyncDispose]();
    });
  });
}

test(
  'datagrams without descriptors: some flows wait, replies are never mixed up, and it recovers',
  { skip: unlessInstalled('bash') },
  async () => {
    await using relay = new Relay({ engine: 'node', limits: { udpFlows: 10_000, udpIdleMs: 500 } }, 128);
    await using pod = await namedUdp('127.0.0.1', 'a');
    const address = vips()();
    await relay.set(route(address, forward(target(pod)), { protocol: 'UDP' }));
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        await using client = await udpClient(address);
        const answer = await client.ask(String(index), 3000);
        return answer === 'silence' ? answer : answer === `a ${index}`;
      }),
    );
    assert.deepEqual(new Set(answers), new Set([true, 'silence']));
    assert.ok((await relay.value('datagrams_total{outcome="limited"}')) > 0, 'they are counted');
    const { logged } = await relay.ask();
    assert.ok(logged.length < 5, 'it is logged seldom, however many they are');
    assert.match(logged[0] ?? '', /no descriptor is left for another UDP flow.*raise `ulimit -n`/);
    await until('descriptors are free again', async () => {
      await using client = await udpClient(address);
      return (await client.ask('hi', 500)) === 'a hi';
    });
  },
);
