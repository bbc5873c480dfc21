import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import dnsPacket from 'dns-packet';
import { ManualClock } from '../../client/testing/clocks.ts';
import { until } from '../../server/testing/until.ts';
import type { Name } from '../../dnswire/data.ts';
import { Notifier } from './notify.ts';
import { sampleZones } from './testing/sample.ts';

interface TestSecondary {
  readonly port: number;
  readonly packets: readonly dnsPacket.DecodedPacket[];
  close(): Promise<void>;
}

/** A secondary on a free port that ignores the first messages and acknowledges later ones. */
async function secondary(ignored = 0): Promise<TestSecondary> {
  const packets: dnsPacket.DecodedPacket[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (bytes, from) => {
    packets.push(dnsPacket.decode(bytes));
    if (packets.length <= ignored) return;
    const reply = Buffer.from(bytes);
    reply[2] = (reply[2] ?? 0) | 0x80;
    socket.send(reply, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    packets,
    async close() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

const zone = sampleZones().zoneOf('cluster.local') ?? assert.fail();

test('sends one NOTIFY per change, with the SOA', async () => {
  const server = await secondary();
  const { signal } = new AbortController();
  const notifier = new Notifier({ secondaries: [{ address: '127.0.0.1', port: server.port }], signal });
  notifier.notify(zone);
  await notifier.idle();
  await server.close();
  assert.equal(server.packets.length, 1);
  const [packet] = server.packets;
  // A cast: the types of the decoder are incomplete.
  assert.equal((packet as { readonly opcode?: string } | undefined)?.opcode, 'NOTIFY');
  assert.deepEqual(packet?.questions?.[0], { name: 'cluster.local', type: 'SOA', class: 'IN' });
  assert.equal(packet?.answers?.[0]?.type, 'SOA');
});

test('retries a NOTIFY that is not acknowledged', async () => {
  const server = await secondary(2);
  const { signal } = new AbortController();
  const secondaries = [{ address: '127.0.0.1', port: server.port }];
  const clock = new ManualClock();
  const notifier = new Notifier({ secondaries, signal, timeoutMs: 20, clock });
  notifier.notify(zone);
  for (const [index, waitMs] of [20, 40].entries()) {
    await until('it receives NOTIFY', () => server.packets.length === index + 1);
    await clock.advance(waitMs);
  }
  await notifier.idle();
  await server.close();
  assert.equal(server.packets.length, 3);
});

test('sends one more NOTIFY for all changes during a message', async () => {
  const server = await secondary();
  const { signal } = new AbortController();
  const secondaries = [{ address: '127.0.0.1', port: server.port }];
  const notifier = new Notifier({ secondaries, signal, intervalMs: 5 });
  for (let count = 0; count < 10; count++) notifier.notify(zone);
  await notifier.idle();
  await server.close();
  assert.equal(server.packets.length, 2);
});

test('reports a secondary that never acknowledges', async () => {
  const server = await secondary(Number.POSITIVE_INFINITY);
  const unheard: Name[] = [];
  const { signal } = new AbortController();
  const secondaries = [{ address: '127.0.0.1', port: server.port }];
  const onUnacknowledged = (_: unknown, apex: Name): void => void unheard.push(apex);
  const clock = new ManualClock();
  const notifier = new Notifier({ secondaries, signal, timeoutMs: 5, attempts: 3, onUnacknowledged, clock });
  notifier.notify(zone);
  for (const [index, waitMs] of [5, 10, 20].entries()) {
    await until('it receives NOTIFY', () => server.packets.length === index + 1);
    await clock.advance(waitMs);
  }
  await notifier.idle();
  await server.close();
  assert.deepEqual(unheard, ['cluster.local']);
  assert.equal(server.packets.length, 3);
});

test('the signal cancels messages in progress', async () => {
  const server = await secondary(Number.POSITIVE_INFINITY);
  const controller = new AbortController();
  const secondaries = [{ address: '127.0.0.1', port: server.port }];
  const notifier = new Notifier({ secondaries, signal: controller.signal, timeoutMs: 60_000 });
  notifier.notify(zone);
  setImmediate(() => controller.abort());
  await notifier.idle();
  await server.close();
});
