import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { until } from '../../server/testing/until.ts';
import type { Action, Route } from '../routes/route.ts';
import { routeKey } from '../routes/route.ts';
import { forward, namedUdp, network, port, route, target, udpClient, vips } from './testing/echo.ts';
import type { Listener } from './engine.ts';
import { defaultLimits } from './options.ts';
import type { UdpOptions } from './udp.ts';
import { UdpRelays } from './udp.ts';

const vip = vips();
const udp = (address: string, action: Action, rest: Partial<Route> = {}): Route =>
  route(address, action, { protocol: 'UDP', ...rest });

/** How long to wait where no reply is expected, or where a retry helps. */
const brieflyMs = 300;

/** Always draws the first target; after a failure the second one, as the clock stands still. */
const firstOfAll = { random: () => 0, now: () => 0, resumedAt: () => 0 };

/** Relays with one listener. */
async function openAt(
  address: string,
  { limits, ...options }: Partial<UdpOptions> = {},
): Promise<AsyncDisposable & { relays: UdpRelays; listener: Listener; set(...routes: readonly Route[]): void }> {
  const relays = new UdpRelays({ ...options, limits: { ...defaultLimits, ...limits } });
  const listener = await relays.open({ key: routeKey(udp(address, { type: 'drop' })), address, port });
  return {
    relays,
    listener,
    set: (...added) => relays.change({ isAll: true, removed: [], added, network }),
    [Symbol.asyncDispose]: () => relays[Symbol.asyncDispose](),
  };
}

describe('datagrams', () => {
  test('keeps the target of a flow when targets are added', async () => {
    const address = vip();
    await using running = await openAt(address);
    await using a = await namedUdp('127.0.0.1', 'a');
    await using b = await namedUdp('127.0.0.1', 'b');
    running.set(udp(address, forward(target(a))));
    await using client = await udpClient(address);
    assert.equal(await client.ask('1'), 'a 1');
    running.set(udp(address, forward(target(a), target(b))));
    for (let count = 0; count < 10; count++) assert.equal(await client.ask('2'), 'a 2');
    assert.equal(running.relays.flows, 1);
  });

  test('moves a flow when its target no longer serves', async () => {
    const address = vip();
    await using running = await openAt(address);
    await using a = await namedUdp('127.0.0.1', 'a');
    await using b = await namedUdp('127.0.0.1', 'b');
    await using client = await udpClient(address);
    running.set(udp(address, forward(target(a))));
    assert.equal(await client.ask('1'), 'a 1');
    // It is terminating and still serves.
    const serving = new Set([a, b].map((each) => `${each.address} ${each.port}`));
    running.set(udp(address, forward(target(b)), { serving }));
    assert.equal(await client.ask('2'), 'a 2');
    running.set(udp(address, forward(target(b))));
    assert.equal(await client.ask('3'), 'b 3');
    running.set(udp(address, { type: 'drop' }));
    assert.equal(await client.ask('4', brieflyMs), 'silence');
    assert.equal(running.relays.flows, 0);
  });

  test('tries another target if the port is closed', async () => {
    const address = vip();
    await using running = await openAt(address, firstOfAll);
    const gone = await namedUdp('127.0.0.1', 'gone');
    await gone[Symbol.asyncDispose]();
    await using a = await namedUdp('127.0.0.1', 'a');
    running.set(udp(address, forward(target(gone), target(a))));
    for (let count = 0; count < 5; count++) {
      await using client = await udpClient(address);
      await until('it is answered', async () => (await client.ask('1', brieflyMs)) === 'a 1');
    }
  });

  test('tries another target if there is no route to the first', async () => {
    const address = vip();
    await using running = await openAt(address, firstOfAll);
    await using a = await namedUdp('127.0.0.1', 'a');
    // `connect` fails, as for an address without a route.
    const unreachable = { address: '255.255.255.255', port };
    running.set(udp(address, forward(target(unreachable), target(a))));
    for (let count = 0; count < 5; count++) {
      await using client = await udpClient(address);
      await until('it is answered', async () => (await client.ask('1', brieflyMs)) === 'a 1');
    }
    running.set(udp(address, forward(target(unreachable))));
    await using client = await udpClient(address);
    assert.equal(await client.ask('1', brieflyMs), 'silence');
    assert.equal(running.relays.flows, 0);
  });

  test('ends idle flows; later datagrams start new ones', async () => {
    const address = vip();
    let nowMs = 0;
    await using running = await openAt(address, {
      now: () => nowMs,
      resumedAt: () => 0,
      limits: { ...defaultLimits, udpIdleMs: 100 },
    });
    await using a = await namedUdp('127.0.0.1', 'a');
    running.set(udp(address, forward(target(a))));
    await using client = await udpClient(address);
    assert.equal(await client.ask('1'), 'a 1');
    nowMs += 100;
    await until('the flow has ended', () => running.relays.flows === 0);
    assert.equal(await client.ask('2'), 'a 2');
  });

  test('ends the least recently used flow at the limit', async () => {
    const address = vip();
    await using running = await openAt(address, { limits: { ...defaultLimits, udpFlows: 2 } });
    await using a = await namedUdp('127.0.0.1', 'a');
    running.set(udp(address, forward(target(a))));
    for (let count = 0; count < 5; count++) {
      await using client = await udpClient(address);
      assert.equal(await client.ask('1'), 'a 1');
      assert.ok(running.relays.flows <= 2);
    }
  });

  test('ends a flow of the listener that has half of all flows', async () => {
    const [quiet, busy] = [vip(), vip()];
    await using running = await openAt(quiet, { limits: { ...defaultLimits, udpFlows: 4 } });
    await using a = await namedUdp('127.0.0.1', 'a');
    const routes = [quiet, busy].map((address) => udp(address, forward(target(a))));
    await running.relays.open({ key: routeKey(udp(busy, { type: 'drop' })), address: busy, port });
    running.set(...routes);
    await using first = await udpClient(quiet);
    assert.equal(await first.ask('1'), 'a 1');
    for (let count = 0; count < 10; count++) {
      await using client = await udpClient(busy);
      assert.equal(await client.ask('1'), 'a 1');
    }
    assert.equal(running.relays.flows, 4);
    assert.equal(await first.ask('2'), 'a 2');
    assert.equal(running.relays.flows, 4, 'its flow was kept');
  });

  test('after a listener was closed, rejecting is left to the kernel', async () => {
    const address = vip();
    await using running = await openAt(address);
    await running.listener.close();
    await using client = await udpClient(address);
    assert.equal(await client.ask('1'), 'ECONNREFUSED');
  });
});
