import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import { decode } from 'dns-packet';
import { sampleQuery, sampleZones } from './answer/testing/sample.ts';
import type { QueryClient } from './prepared.ts';
import type { RecordSet } from '../dnswire/data.ts';
import { serveSecondaries } from './serving.ts';
import { rcodeOf, readMessage } from '../dnswire/message.ts';

const client: QueryClient = { address: '192.0.2.53', port: 53, protocol: 'tcp' };
const context = { protocol: 'tcp', recursion: false, rotation: 0 } as const;
const set = (address: string): RecordSet => ({
  owner: 'new.default.svc.cluster.local',
  type: 'A',
  ttl: 5,
  data: [{ type: 'A', address }],
});

test('refuses transfers unless the options allow the client', async () => {
  for (const [to, want] of [
    [[], 5],
    [['198.51.100.0/24'], 5],
    [['192.0.2.0/24'], 0],
  ] as const) {
    const stop = new AbortController();
    const zones = sampleZones();
    const secondaries = serveSecondaries(zones, { to, notify: [] }, stop.signal);
    const ask = async (): Promise<number> => {
      const query = sampleQuery('cluster.local', 'AXFR');
      const [first] = await secondaries.transfers.respond(query, client, context);
      return rcodeOf(readMessage(first ?? assert.fail('silence')) ?? assert.fail('no message'));
    };
    assert.equal(await ask(), want, `${to.join()}, before it is open`);
    secondaries.open();
    assert.equal(await ask(), want, to.join());
    stop.abort();
  }
});

test('notifies secondaries of changes after the zones are complete, not before', async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const notified: string[] = [];
  socket.on('message', (message, from) => {
    const { questions = [], id = 0 } = decode(message);
    notified.push(...questions.map(({ name, type }) => `${name} ${type}`));
    // The response to a NOTIFY: the same message with QR set.
    const reply = Buffer.from(message);
    reply[2] = (reply[2] ?? 0) | 0x80;
    reply.writeUInt16BE(id, 0);
    socket.send(reply, from.port, from.address);
  });
  const stop = new AbortController();
  const zones = sampleZones();
  const notify = [{ address: '127.0.0.1', port: socket.address().port }];
  const secondaries = serveSecondaries(zones, { to: [], notify }, stop.signal);
  secondaries.changed(zones.put('Service/default/new', [set('10.0.0.1')]));
  secondaries.open();
  secondaries.changed(zones.put('Service/default/new', [set('10.0.0.2')]));
  await once(socket, 'message');
  assert.deepEqual(notified, ['cluster.local SOA']);
  stop.abort();
  socket.close();
});
