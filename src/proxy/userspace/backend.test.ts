import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { until } from '../../server/testing/until.ts';
import type { Action } from '../routes/route.ts';
import { ask, forward, named, namedUdp, port, route, serve, target, udpClient, vips } from './testing/echo.ts';
import { loadLibc } from './native/libc.ts';
import { Sockets } from './native/sockets.ts';
import { engines } from './testing/backend.ts';

const libc = await loadLibc();
const reject: Action = { type: 'reject' };
const drop: Action = { type: 'drop' };

for (const { engine, skip, open } of engines) {
  describe(`the ${engine} engine: connections`, { skip }, () => {
    const vip = vips();
    // Without kernel filters, disallowed clients are reset. Short timeouts, as silence is expected.
    const isNative = engine === 'native';
    const [silence, unheard] = isNative ? [/^silence$/, { timeoutMs: 300 }] : [/^(ECONNRESET|EPIPE)$/, {}];

    test('relays bytes in both directions', async () => {
      await using running = await open();
      await using pod = await named('127.0.0.1', 'a');
      const address = vip();
      await running.set(route(address, forward(target(pod))));
      assert.equal(await ask(address, { text: 'hello' }), 'a\nhello');
      const big = 'x'.repeat(3_000_000);
      assert.equal((await ask(address, { text: big })).length, big.length + 2);
      await until('it is over', async () => (await running.value('fairlead_proxy_connections')) === 0);
      assert.equal(await running.value('fairlead_proxy_bytes_total{direction="to_target"}'), big.length + 5);
    });

    test('passes a half-close on', async () => {
      await using running = await open();
      await using pod = await serve('127.0.0.1', (socket) => {
        socket.resume().on('end', () => setTimeout(() => socket.end('after the end'), 50));
      });
      const address = vip();
      await running.set(route(address, forward(target(pod))));
      assert.equal(await ask(address), 'after the end');
      await using talker = await serve('127.0.0.1', (socket) => {
        socket.end('bye');
        socket.on('data', (data: Buffer) => received.push(data));
        socket.on('end', () => (isOver = true));
      });
      const received: Buffer[] = [];
      let isOver = false;
      await running.set(route(address, forward(target(talker))));
      const client = connect({ host: address, port, allowHalfOpen: true });
      client.resume();
      await once(client, 'end');
      client.write('still here');
      await until('it is received', () => Buffer.concat(received).toString() === 'still here');
      assert.equal(isOver, false);
      client.end();
      await until('the end is received', () => isOver);
    });

    test('passes a reset on', async () => {
      await using running = await open();
      await using pod = await serve('127.0.0.1', (socket) => socket.once('data', () => socket.resetAndDestroy()));
      const address = vip();
      await running.set(route(address, forward(target(pod))));
      assert.equal(await ask(address), 'ECONNRESET');
    });

    test('rejects connections without endpoints, and serves when there are some', async () => {
      await using running = await open();
      await using pod = await named('127.0.0.1', 'a');
      const address = vip();
      await running.set(route(address, reject));
      assert.equal(await ask(address), 'ECONNREFUSED');
      await running.set(route(address, forward(target(pod))));
      assert.equal(await ask(address), 'a\nhi');
      await running.set();
      assert.equal(await ask(address), 'ECONNREFUSED');
    });

    test('LB-7 drops connections of a silent route, also if another program listens on all addresses', async () => {
      await using running = await open();
      await using elsewhere = await named('127.0.0.1', 'not for you');
      const address = vip();
      await running.set(route(address, drop, { port: elsewhere.port }));
      assert.match(await ask(address, { at: elsewhere.port, ...unheard }), silence);
    });

    test('tries another target if the port is closed', async () => {
      await using running = await open();
      await using pod = await named('127.0.0.1', 'a');
      const gone = await named('127.0.0.1', 'gone');
      await gone[Symbol.asyncDispose]();
      const address = vip();
      await running.set(route(address, forward(target(gone), target(pod))));
      const answers = await Promise.all(Array.from({ length: 50 }, () => ask(address)));
      assert.deepEqual(new Set(answers), new Set(['a\nhi']));
      await running.set(route(address, forward(target(gone))));
      assert.equal(await ask(address), 'ECONNRESET');
    });

    test('tries another target after the dial timeout', async () => {
      await using running = await open();
      await using pod = await named('127.0.0.1', 'a');
      // A listener that never answers; without one, an unused address.
      const silent = { address: libc === undefined ? '192.0.2.1' : vip(), port };
      const fd = libc === undefined ? undefined : new Sockets(libc).listen(silent.address, port, [[]]);
      const address = vip();
      await running.set(route(address, forward(target(silent), target(pod))));
      const answers = await Promise.all(Array.from({ length: 10 }, () => ask(address)));
      assert.deepEqual(new Set(answers), new Set(['a\nhi']));
      if (fd !== undefined) libc?.close(fd);
    });

    test('sends the PROXY protocol header if the route has one', async () => {
      await using running = await open();
      const address = vip();
      // The target answers after the header, while the client sends nothing.
      await using pod = await serve('127.0.0.1', (socket) =>
        socket.once('data', (header: Buffer) => socket.end(header)),
      );
      const receive = async (from: string): Promise<readonly [number, Buffer]> => {
        const socket = connect({ host: address, port, localAddress: from });
        const [header] = (await once(socket, 'data')) as [Buffer];
        const own = socket.localPort ?? 0;
        socket.destroy();
        return [own, header];
      };
      await running.set(route(address, forward(target(pod)), { proxyProtocol: 'v1' }));
      const [own, line] = await receive('127.5.0.1');
      assert.equal(line.toString(), `PROXY TCP4 127.5.0.1 ${address} ${own} ${port}\r\n`);
      await running.set(route(address, forward(target(pod)), { proxyProtocol: 'v2' }));
      const [, bytes] = await receive('127.5.0.1');
      assert.equal(bytes.length, 28);
      assert.deepEqual([...bytes.subarray(16, 20)], [127, 5, 0, 1]);
      await using echo = await named('127.0.0.1', 'a');
      await running.set(route(address, forward(target(echo)), { proxyProtocol: 'v1' }));
      assert.match(await ask(address, { from: '127.5.0.2' }), /^a\nPROXY TCP4 127\.5\.0\.2 .*\r\nhi$/);
    });

    test('keeps session affinity until the target is removed', async () => {
      await using running = await open({ threads: 2 });
      const pods = await Promise.all(['a', 'b', 'c'].map((name) => named('127.0.0.1', name)));
      const address = vip();
      await running.set(route(address, forward(...pods.map((pod) => target(pod, 60)))));
      const answers = new Set<string>();
      for (let count = 0; count < 20; count++) answers.add(await ask(address));
      assert.equal(answers.size, 1);
      const first = [...answers][0] ?? '';
      const others = pods.filter((_, index) => 'abc'[index] !== first[0]);
      await running.set(route(address, forward(...others.map((pod) => target(pod, 60)))));
      const later = new Set<string>();
      for (let count = 0; count < 20; count++) later.add(await ask(address));
      assert.equal(later.size, 1);
      assert.notEqual([...later][0], first);
      for (const pod of pods) await pod[Symbol.asyncDispose]();
    });

    test('rejects clients outside the source ranges', async () => {
      await using running = await open();
      await using pod = await named('127.0.0.1', 'a');
      const address = vip();
      await running.set(route(address, forward(target(pod)), { sources: ['127.5.0.0/16'] }));
      assert.equal(await ask(address, { from: '127.5.0.1' }), 'a\nhi');
      assert.match(await ask(address, { from: '127.6.0.1', ...unheard }), silence);
      await running.set(route(address, forward(target(pod))));
      assert.equal(await ask(address, { from: '127.6.0.1' }), 'a\nhi', 'the ranges are gone');
    });

    test('keeps connections of clients that leave the source ranges', async () => {
      await using running = await open();
      await using pod = await named('127.0.0.1', 'a');
      const address = vip();
      const from = '127.5.0.1';
      await running.set(route(address, forward(target(pod)), { sources: ['127.5.0.0/16'] }));
      const client = connect({ host: address, port, localAddress: from });
      const received: string[] = [];
      client.setEncoding('utf8').on('data', (text: string) => received.push(text));
      await until('it is connected', () => received.join('') === 'a\n');
      await running.set(route(address, forward(target(pod)), { sources: ['127.6.0.0/16'] }));
      assert.match(await ask(address, { from, ...unheard }), silence);
      client.write('still here');
      await until('it goes on', () => received.join('') === 'a\nstill here');
      client.destroy();
    });

    test('keeps connections when their target or Service is removed, and accepts no new ones', async () => {
      await using running = await open();
      await using a = await named('127.0.0.1', 'a');
      await using b = await named('127.0.0.1', 'b');
      const address = vip();
      await running.set(route(address, forward(target(a))));
      const client = connect({ host: address, port });
      const received: string[] = [];
      client.setEncoding('utf8').on('data', (text: string) => received.push(text));
      await until('it is connected', () => received.join('') === 'a\n');
      await running.set(route(address, forward(target(b))));
      assert.equal(await ask(address), 'b\nhi');
      client.write('one ');
      await until('it goes on', () => received.join('') === 'a\none ');
      await running.set();
      client.write('two');
      await until('it still goes on', () => received.join('') === 'a\none two');
      client.destroy();
    });

    test('loses no connection while endpoints change', async () => {
      await using running = await open();
      const pods = await Promise.all(['a', 'b', 'c', 'd'].map((name) => named('127.0.0.1', name)));
      const address = vip();
      await running.set(route(address, forward(...pods.map((pod) => target(pod)))));
      let isOver = false;
      const answers = new Map<string, number>();
      const client = async (): Promise<void> => {
        while (!isOver) {
          const answer = await ask(address);
          answers.set(answer, (answers.get(answer) ?? 0) + 1);
        }
      };
      const clients = Array.from({ length: 16 }, client);
      for (let count = 0; count < 60; count++) {
        const some = pods.filter((_, index) => (count + index) % 3 !== 0);
        await running.set(route(address, forward(...some.map((pod) => target(pod)))));
        if (count % 10 === 0) await running.backend.replace(running.table);
        await delay(10);
      }
      isOver = true;
      await Promise.all(clients);
      assert.deepEqual([...answers.keys()].toSorted(), ['a\nhi', 'b\nhi', 'c\nhi', 'd\nhi']);
      for (const pod of pods) await pod[Symbol.asyncDispose]();
    });

    test('relays IPv6', async () => {
      await using running = await open();
      await using pod = await named('::1', 'six');
      const at = 28_000 + Math.floor(Math.random() * 4000); // the only address there is without set-up
      await running.set(route('::1', forward(target(pod)), { port: at }));
      assert.equal(await ask('::1', { at }), 'six\nhi');
    });

    test('treats TCP and UDP on one port as two routes', async () => {
      await using running = await open();
      await using tcp = await named('127.0.0.1', 'tcp');
      await using udp = await namedUdp('127.0.0.1', 'udp');
      const address = vip();
      await running.set(
        route(address, forward(target(tcp))),
        route(address, forward(target(udp)), { protocol: 'UDP' }),
        route(address, forward(target(udp)), { protocol: 'SCTP' }),
      );
      assert.equal(await ask(address), 'tcp\nhi');
      await using client = await udpClient(address);
      assert.equal(await client.ask('hi'), 'udp hi');
      assert.match(running.problems.join(), /SCTP: listeners carry TCP and UDP/);
    });
  });
}
