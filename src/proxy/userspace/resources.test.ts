// The use of machine resources by the backend: limits, errors, and release.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { until } from '../../server/testing/until.ts';
import { ask, forward, named, network, port, route, serve, target, vips } from './testing/echo.ts';
import { engines, TestBackend } from './testing/backend.ts';

for (const { engine, skip, open } of engines) {
  describe(`the ${engine} engine: resources`, { skip }, () => {
    const vip = vips();

    test('slows down the writer instead of buffering for a slow reader', async () => {
      await using running = await open();
      let sent = 0;
      await using pod = await serve('127.0.0.1', (socket) => {
        const chunk = Buffer.alloc(1 << 20);
        const more = (): void => {
          while (!socket.destroyed && socket.write(chunk)) sent += chunk.length;
          sent += chunk.length;
        };
        socket.on('drain', more);
        more();
      });
      const address = vip();
      await running.set(route(address, forward(target(pod))));
      const client = connect({ host: address, port });
      client.pause();
      await once(client, 'connect');
      let before = -1;
      await until('nothing moves any more', async () => {
        const same = before === sent;
        before = sent;
        await delay(100);
        return same;
      });
      assert.ok(sent < 64 << 20, `${sent} bytes were taken from the target`);
      client.destroy();
    });

    test('resets connections above the limits of the proxy and of one address', async () => {
      await using running = await open({ limits: { connections: 3, connectionsPerAddress: 2 } });
      await using pod = await named('127.0.0.1', 'a');
      const [one, two] = [vip(), vip()];
      await running.set(...[one, two].map((address) => route(address, forward(target(pod)))));
      const hold = async (address: string): Promise<() => void> => {
        const socket = connect({ host: address, port });
        await once(socket, 'data');
        return () => socket.destroy();
      };
      const held = [await hold(one), await hold(one)];
      assert.equal(await ask(one), 'ECONNRESET');
      held.push(await hold(two));
      assert.equal(await ask(two), 'ECONNRESET');
      for (const release of held) release();
      await until('there is room', async () => (await ask(one)) === 'a\nhi');
      assert.ok((await running.value('fairlead_proxy_connections_total{outcome="limited"}')) >= 2);
    });

    test('reports a port in use, and opens it when it is free', async () => {
      await using running = await open();
      await using pod = await named('127.0.0.1', 'a');
      const address = vip();
      const holder = createServer();
      holder.listen(port, address);
      await once(holder, 'listening');
      await running.set(route(address, forward(target(pod))));
      assert.match(running.problems[0] ?? '', /^Service shop\/web is not served at .*another program has that/);
      holder.close();
      await until('it is opened', async () => (await ask(address)) === 'a\nhi');
      assert.deepEqual(running.problems, []);
    });

    test('reports an address that the machine does not have, with the fix', async () => {
      await using running = await open();
      await running.set(route('192.0.2.77', forward(target({ address: '127.0.0.1', port: 9 }))));
      assert.match(
        running.problems[0] ?? '',
        /no interface has the address.*ip route add local 192\.0\.2\.77 dev lo`, or/,
      );
      await running.set(route('2001:db8::77', forward(target({ address: '::1', port: 9 }))));
      assert.match(running.problems[0] ?? '', /ip -6 route add local 2001:db8::77 dev lo` and `sysctl net\.ipv6/);
    });

    test('reports a range that the machine does not have once', async () => {
      await using running = await open({}, { ...network, serviceRanges: ['192.0.2.0/24'] });
      const nobody = forward(target({ address: '127.0.0.1', port: 9 }));
      await running.set(route('192.0.2.77', nobody), route('192.0.2.78', nobody));
      assert.equal(running.problems.length, 1);
      assert.match(
        running.problems[0] ?? '',
        /^nothing is served in 192\.0\.2\.0\/24: .*local 192\.0\.2\.0\/24 dev lo/,
      );
    });

    test('leaks no descriptor', { skip: !existsSync('/proc/self/fd') && 'there is no /proc' }, async () => {
      await using running = await open();
      await using pod = await named('127.0.0.1', 'a');
      const gone = await named('127.0.0.1', 'gone');
      await gone[Symbol.asyncDispose]();
      const address = vip();
      await running.set(route(address, forward(target(pod), target(gone))));
      const count = (): number => readdirSync('/proc/self/fd').length;
      await ask(address);
      await until('it is over', async () => (await running.value('fairlead_proxy_connections')) === 0);
      await delay(50);
      const before = count();
      const all = Array.from({ length: 200 }, async (_, index) => {
        if (index % 3 > 0) return ask(address);
        const socket = connect({ host: address, port });
        socket.on('error', () => {});
        await once(socket, 'connect');
        return index % 2 === 0 ? socket.resetAndDestroy() : socket.destroy();
      });
      await Promise.all(all);
      await until('all are closed', () => count() <= before + 2);
    });

    test('waits for connections to end when it is disposed of, up to the drain time', async () => {
      const running = await open({ drainMs: 60_000 });
      await using pod = await named('127.0.0.1', 'a');
      const address = vip();
      await running.set(route(address, forward(target(pod))));
      const client = connect({ host: address, port });
      await once(client, 'data');
      const disposed = running[Symbol.asyncDispose]();
      await until('no further connection is accepted', async () => (await ask(address)) === 'ECONNREFUSED');
      client.end('last');
      const [last] = (await once(client, 'data')) as [Buffer];
      assert.equal(last.toString(), 'last');
      await disposed;
    });
  });
}

test('registers the metrics that the README lists', async () => {
  await using running = await TestBackend.open({ engine: 'node' });
  const text = await running.metrics.metrics();
  const made = Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name = '']) => name);
  const page = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  const listed = Array.from(page.matchAll(/`(fairlead_proxy_\w+)`/g), ([, name = '']) => name);
  assert.deepEqual(made.toSorted(), listed.toSorted());
});
