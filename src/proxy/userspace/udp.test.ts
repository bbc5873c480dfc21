import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { until } from '../../server/testing/until.ts';
import type { Action, Route } from '../routes/route.ts';
import { routeKey } from '../routes/route.ts';
import { forward, namedUdp, network, port, route, target, udpClient, vips } from './testing/echo.ts';
import type { OpenDoor } from './engine.ts';
import { defaultLimits } from './options.ts';
import type { UdpOptions } from './udp.ts';
import { UdpRelays } from './udp.ts';

const vip = vips();
const udp = (address: string, action: Action, rest: Partial<Route> = {}): Route =>
  route(address, action, { protocol: 'UDP', ...rest });

/** How long to listen where silence is expected, or where asking again helps. */
const brieflyMs = 300;

/** The first target is drawn before any other, and one that failed is passed over for ever: time stands still. */
const firstOfAll = { random: () => 0, now: () => 0, resumedAt: () => 0 };

/** Relays with one door. */
async function openAt(
  address: string,
  { limits, ...options }: Partial<UdpOptions> = {},
): Promise<AsyncDisposable & { relays: UdpRelays; door: OpenDoor; set(...routes: readonly Route[]): void }> {
  const relays = new UdpRelays({ ...options, limits: { ...defaultLimits, ...limits } });
  const door = await relays.open({ key: routeKey(udp(address, { type: 'drop' })), address, port });
  return {
    relays,
    door,
    set: (...added) => relays.change({ isAll: true, removed: [], added, network }),
    [Symbol.asyncDispose]: () => relays[Symbol.asyncDispose](),
  };
}

describe('datagrams', () => {
  test('one client stays with its target, though others are added', async () => {
    const address = vip();
    await using stand = await openAt(address);
    await using a = await namedUdp('127.0.0.1', 'a');
    await using b = await namedUdp('127.0.0.1', 'b');
    stand.set(udp(address, forward(target(a))));
    await using client = await udpClient(address);
    assert.equal(await client.ask('1'), 'a 1');
    stand.set(udp(address, forward(target(a), target(b))));
    for (let count = 0; count < 10; count++) assert.equal(await client.ask('2'), 'a 2');
    assert.equal(stand.relays.flows, 1);
  });

  test('a client with one socket moves when its target serves no more, and not while it does', async () => {
    const address = vip();
    await using stand = await openAt(address);
    await using a = await namedUdp('127.0.0.1', 'a');
    await using b = await namedUdp('127.0.0.1', 'b');
    await using client = await udpClient(address);
    stand.set(udp(address, forward(target(a))));
    assert.equal(await client.ask('1'), 'a 1');
    // It terminates, but still serves.
    const serving = new Set([a, b].map((each) => `${each.address} ${each.port}`));
    stand.set(udp(address, forward(target(b)), { serving }));
    assert.equal(await client.ask('2'), 'a 2');
    stand.set(udp(address, forward(target(b))));
    assert.equal(await client.ask('3'), 'b 3');
    stand.set(udp(address, { type: 'drop' }));
    assert.equal(await client.ask('4', brieflyMs), 'silence');
    assert.equal(stand.relays.flows, 0);
  });

  test('a target where nobody listens is left for another', async () => {
    const address = vip();
    await using stand = await openAt(address, firstOfAll);
    const gone = await namedUdp('127.0.0.1', 'gone');
    await gone[Symbol.asyncDispose]();
    await using a = await namedUdp('127.0.0.1', 'a');
    stand.set(udp(address, forward(target(gone), target(a))));
    for (let count = 0; count < 5; count++) {
      await using client = await udpClient(address);
      await until('it is answered', async () => (await client.ask('1', brieflyMs)) === 'a 1');
    }
  });

  test('a target that there is no way to is left for another', async () => {
    const address = vip();
    await using stand = await openAt(address, firstOfAll);
    await using a = await namedUdp('127.0.0.1', 'a');
    // No socket may connect there, as to an address that no route leads to.
    const unreachable = { address: '255.255.255.255', port };
    stand.set(udp(address, forward(target(unreachable), target(a))));
    for (let count = 0; count < 5; count++) {
      await using client = await udpClient(address);
      await until('it is answered', async () => (await client.ask('1', brieflyMs)) === 'a 1');
    }
    stand.set(udp(address, forward(target(unreachable))));
    await using client = await udpClient(address);
    assert.equal(await client.ask('1', brieflyMs), 'silence');
    assert.equal(stand.relays.flows, 0);
  });

  test('flows that are idle are forgotten, and go on as new ones', async () => {
    const address = vip();
    let nowMs = 0;
    await using stand = await openAt(address, {
      now: () => nowMs,
      resumedAt: () => 0,
      limits: { ...defaultLimits, udpIdleMs: 100 },
    });
    await using a = await namedUdp('127.0.0.1', 'a');
    stand.set(udp(address, forward(target(a))));
    await using client = await udpClient(address);
    assert.equal(await client.ask('1'), 'a 1');
    nowMs += 100;
    await until('it is forgotten', () => stand.relays.flows === 0);
    assert.equal(await client.ask('2'), 'a 2');
  });

  test('too many flows: the one idle longest gives way', async () => {
    const address = vip();
    await using stand = await openAt(address, { limits: { ...defaultLimits, udpFlows: 2 } });
    await using a = await namedUdp('127.0.0.1', 'a');
    stand.set(udp(address, forward(target(a))));
    for (let count = 0; count < 5; count++) {
      await using client = await udpClient(address);
      assert.equal(await client.ask('1'), 'a 1');
      assert.ok(stand.relays.flows <= 2);
    }
  });

  test('a door with half of the flows gives up its own, not that of another door', async () => {
    const [quiet, busy] = [vip(), vip()];
    await using stand = await openAt(quiet, { limits: { ...defaultLimits, udpFlows: 4 } });
    await using a = await namedUdp('127.0.0.1', 'a');
    const routes = [quiet, busy].map((address) => udp(address, forward(target(a))));
    await stand.relays.open({ key: routeKey(udp(busy, { type: 'drop' })), address: busy, port });
    stand.set(...routes);
    await using first = await udpClient(quiet);
    assert.equal(await first.ask('1'), 'a 1');
    for (let count = 0; count < 10; count++) {
      await using client = await udpClient(busy);
      assert.equal(await client.ask('1'), 'a 1');
    }
    assert.equal(stand.relays.flows, 4);
    assert.equal(await first.ask('2'), 'a 2');
    assert.equal(stand.relays.flows, 4, 'its flow was kept');
  });

  test('a door that is closed is refused by the kernel', async () => {
    const address = vip();
    await using stand = await openAt(address);
    await stand.door.close();
    await using client = await udpClient(address);
    assert.equal(await client.ask('1'), 'ECONNREFUSED');
  });
});
