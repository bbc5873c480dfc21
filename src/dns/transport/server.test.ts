import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';

import { until } from '../../server/testing/until.ts';
import type { SlowPath } from '../prepared.ts';
import { framed, TcpClient, UdpClient } from './testing/client.ts';
import type { ListenAddress } from './protocol.ts';
import { addressRecord, apex, decode, edns, named, query, sampleTable, zone } from './testing/sample.ts';
import type { DnsServerOptions, RunningDns } from './server.ts';
import { startDnsServer } from './server.ts';
import { AnswerTable } from './table.ts';

const transports = ['batch', 'dgram'] as const;

/** A slow path that replies REFUSED, with the client's address after the header. */
const refuse: SlowPath = async (bytes) => {
  const reply = Uint8Array.from(bytes);
  reply[2] = (reply[2] ?? 0) | 0x80;
  reply[3] = 5;
  return [reply];
};

interface TestServer extends RunningDns, AsyncDisposable {
  readonly at: ListenAddress;
}

async function serve(options: Partial<DnsServerOptions> = {}): Promise<TestServer> {
  const running = await startDnsServer({
    listen: [{ address: '127.0.0.1', port: 0 }],
    table: options.table ?? sampleTable(),
    slowPath: refuse,
    onError: (error) => assert.fail(String(error)),
    ...options,
  });
  const [at] = running.addresses;
  assert.ok(at);
  const { transport } = running;
  return {
    at,
    transport,
    addresses: running.addresses,
    stats: () => running.stats(),
    useTable: async (table) => running.useTable(table),
    close: async (timeoutMs) => running.close(timeoutMs),
    [Symbol.asyncDispose]: async () => running.close(0),
  };
}

const rcode = (reply: Uint8Array | undefined): string => {
  if (reply === undefined) return 'nothing';
  const decoded = decode(reply);
  return 'rcode' in decoded ? String(decoded.rcode) : '';
};
const addresses = (reply: Uint8Array | undefined): readonly unknown[] =>
  reply === undefined ? [] : (decode(reply).answers ?? []).map((each) => ('data' in each ? each.data : each.type));

const web = query(`web.ns.svc.${apex}`);
const outside = query('example.org');

for (const transport of transports) {
  for (const [workers, address] of [
    [1, '127.0.0.1'],
    [2, '::1'],
    [2, '0.0.0.0'],
  ] as const) {
    test(`${transport}: ${workers} workers answer on ${address}, over UDP and TCP, from table and slow path`, async () => {
      await using server = await serve({ transport, workers, listen: [{ address, port: 0 }] });
      const at = { address: address === '0.0.0.0' ? '127.0.0.1' : address, port: server.at.port };
      await using udp = new UdpClient(address);
      assert.deepEqual(addresses(await udp.ask(at, web)), ['10.0.0.1']);
      assert.equal(rcode(await udp.ask(at, query(`no.${apex}`, 'A', edns(1232)))), 'NXDOMAIN');
      assert.equal(rcode(await udp.ask(at, outside)), 'REFUSED');
      assert.equal(rcode(await udp.ask(at, Buffer.from('000000000001000000000000ff', 'hex'))), 'FORMERR');
      for (let turn = 0; turn < 8; turn++) {
        using tcp = new TcpClient(at);
        tcp.socket.write(Buffer.concat([framed(web), framed(outside)]));
        assert.deepEqual(addresses(await tcp.next()), ['10.0.0.1']);
        assert.equal(rcode(await tcp.next()), 'REFUSED');
      }
      await server.close();
      const { requests, responses, totals, durations } = server.stats();
      assert.equal(
        requests.reduce((sum, { count }) => sum + count, 0),
        20,
      );
      assert.deepEqual(
        responses.map((each) => [each.rcode, each.count]),
        [
          [0, 9],
          [1, 1],
          [3, 1],
          [5, 9],
        ],
      );
      assert.equal(totals.slowPath, 9);
      assert.equal(totals.accepted, 8);
      assert.equal(totals.connections, 0);
      assert.equal(durations.udp.count + durations.tcp.count, 20);
    });
  }

  test(`${transport}: answers queries on the slow path before closing`, async () => {
    const { promise: queried, resolve: onQuery } = Promise.withResolvers<void>();
    const { promise: release, resolve: goOn } = Promise.withResolvers<void>();
    const slowPath: SlowPath = async (bytes, client) => {
      assert.equal(client.address, '127.0.0.1');
      onQuery();
      await release;
      return refuse(bytes, client);
    };
    await using server = await serve({ transport, slowPath });
    await using udp = new UdpClient('127.0.0.1');
    const reply = udp.ask(server.at, outside);
    await queried;
    const closed = server.close();
    goOn();
    assert.equal(rcode(await reply), 'REFUSED');
    await closed;
  });

  test(`${transport}: replaces a table while it is read`, async () => {
    await using server = await serve({ transport, workers: 2 });
    await using udp = new UdpClient('127.0.0.1');
    for (const count of [2, 3]) {
      const table = new AnswerTable();
      table.putZone(zone(2));
      table.put(named(`web.ns.svc.${apex}`, count));
      await server.useTable(table);
      assert.equal(addresses(await udp.ask(server.at, web)).length, count);
    }
    await server.close();
  });

  test(`${transport}: rejects a port in use with its address`, async () => {
    const other = createSocket('udp4');
    other.bind(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address();
    const listen = [{ address: '127.0.0.1', port }];
    const isTaken = { code: 'EADDRINUSE', message: new RegExp(`127.0.0.1:${port} is in use`) };
    await assert.rejects(serve({ transport, listen }), isTaken);
    await assert.rejects(serve({ transport, listen, workers: 2 }), isTaken);
    other.close();
    await using first = await serve({ transport, workers: 2 });
    await assert.rejects(serve({ transport, workers: 2, listen: [first.at] }), { code: 'EADDRINUSE' });
    await first.close();
  });
}

test('rejects an invalid or foreign address by name', async () => {
  await assert.rejects(serve({ listen: [{ address: 'nowhere', port: 0 }] }), /"nowhere": it is not an IP address/);
  await assert.rejects(serve({ listen: [{ address: '192.0.2.1', port: 0 }] }), /192\.0\.2\.1:0: no interface/);
});

for (const [wildcard, addresses] of [
  ['0.0.0.0', ['127.0.0.7', '127.0.0.8']],
  ['::', ['::1']],
] as const) {
  test(`on ${wildcard} replies from the address that the query was sent to`, async () => {
    await using server = await serve({ listen: [{ address: wildcard, port: 0 }] });
    await using udp = new UdpClient(addresses[0]);
    for (const address of addresses) {
      for (const bytes of [web, outside]) {
        assert.ok(await udp.ask({ address, port: server.at.port }, bytes));
        if (server.transport === 'batch') assert.equal(udp.lastFrom, address);
      }
    }
  });
}

test('workers create cookies', async () => {
  await using server = await serve({
    reply: { cookieSecrets: [new Uint8Array(16).fill(7)], recursionAvailable: true },
  });
  const client = Buffer.from('0123456789abcdef', 'hex');
  const cookie = Buffer.concat([Buffer.from('000a0008', 'hex'), client]);
  const bytes = Buffer.concat([query(`web.ns.svc.${apex}`, 'A', edns(1232)), cookie]);
  bytes.writeUInt16BE(cookie.length, bytes.length - cookie.length - 2);
  await using udp = new UdpClient('127.0.0.1');
  const reply = await udp.ask(server.at, bytes);
  assert.ok(reply);
  assert.deepEqual(addresses(reply), ['10.0.0.1']);
  assert.ok(decode(reply).flag_ra);
  assert.equal(reply.indexOf(client), reply.length - 24, 'the client cookie, then 16 bytes of ours');
  await server.close();
  assert.equal(server.stats().totals.slowPath, 0);
});

test('never mixes old and new answers while the table changes', async () => {
  const table = sampleTable();
  const name = `web.ns.svc.${apex}`;
  // Each record contains the number of records.
  const put = (count: number): void => {
    const answers = Array.from({ length: count }, (_, index) => addressRecord(count, index, 0, 0));
    table.put({ name, zone: apex, answers: [{ type: 1, answers, additional: [] }] });
  };
  put(1);
  await using server = await serve({ table, workers: 2 });
  await using udp = new UdpClient('127.0.0.1');
  for (let turn = 0; turn < 60; turn++) {
    const queries = Array.from({ length: 20 }, async (_, index) => udp.ask(server.at, web, { id: turn * 20 + index }));
    for (let change = 0; change < 100; change++) put(1 + ((turn * 31 + change * 7) % 25));
    for (const reply of await Promise.all(queries)) {
      const got = addresses(reply).map((address) => Number(String(address).split('.', 1)[0]));
      assert.ok(got.length > 0 && got.every((count) => count === got.length), String(got));
    }
  }
  await server.close();
});

test('a takeover by another server loses no query', async () => {
  await using open = new AsyncDisposableStack();
  const first = open.use(await serve({ share: true }));
  if (first.transport !== 'batch') return;
  let lost = 0;
  let isDone = false;
  const asking = Array.from({ length: 16 }, async () => {
    const client = open.use(new UdpClient('127.0.0.1'));
    for (let id = 0; !isDone; id = (id + 1) & 0xffff) {
      if ((await client.ask(first.at, web, { id })) === undefined) lost++;
    }
  });
  try {
    let old = first;
    for (let turn = 0; turn < 4; turn++) {
      const next = open.use(await serve({ share: true, listen: [first.at] }));
      await old.close();
      old = next;
    }
  } finally {
    isDone = true;
    await Promise.all(asking);
  }
  assert.equal(lost, 0);
});

test('drops a flood for a hanging slow path, and still returns prepared answers', async () => {
  let running = 0;
  let most = 0;
  const hang = Promise.withResolvers<void>();
  const slowPath: SlowPath = async () => {
    most = Math.max(most, ++running);
    await hang.promise;
    return [];
  };
  const limits = {
    maxRunning: 10,
    maxWaiting: 20,
    maxPerClient: 1000,
    slowPathPerClient: { perSecond: 0.01, burst: 200 },
  };
  await using server = await serve({ slowPath, limits });
  await using flood = new UdpClient('127.0.0.1');
  await using udp = new UdpClient('127.0.0.1');
  const flooded: Promise<unknown>[] = [];
  // In portions, or the socket of a starved worker would overflow.
  await until('it is shed', () => {
    for (let count = 0; count < 20; count++) {
      const id = flooded.length & 0xffff;
      flooded.push(flood.ask(server.at, outside, { id }));
    }
    const { slowPath, shed } = server.stats().totals;
    return most === 10 && slowPath > 10 && shed > slowPath && shed > 500;
  });
  assert.deepEqual(addresses(await udp.ask(server.at, web)), ['10.0.0.1']);
  assert.ok(server.stats().totals.slowPath <= 201, `${server.stats().totals.slowPath} reached the slow path`);
  assert.equal(most, 10);
  flood.giveUp();
  await Promise.all(flooded);
  hang.resolve();
  await server.close();
});

test('truncates replies to a client above its rate', async () => {
  await using server = await serve({ limits: { responsesPerClient: { perSecond: 0.01, burst: 5 } } });
  await using udp = new UdpClient('127.0.0.1');
  const queries = Array.from({ length: 45 }, async (_, id) => udp.ask(server.at, web, { id }));
  // The other replies are dropped.
  const isOver = (): boolean => server.stats().totals.limited === 40 && replied === 25;
  let replied = 0;
  for (const each of queries) void each.then((reply) => reply !== undefined && replied++);
  await until('all are answered, or not', isOver);
  udp.giveUp();
  const replies = await Promise.all(queries);
  const got = replies.filter((reply) => reply !== undefined).map((reply) => decode(reply));
  assert.equal(got.filter(({ flag_tc: isTruncated }) => !isTruncated).length, 5);
  assert.equal(got.filter(({ flag_tc: isTruncated }) => isTruncated).length, 20);
  using tcp = new TcpClient(server.at);
  tcp.socket.write(framed(web));
  assert.deepEqual(addresses(await tcp.next()), ['10.0.0.1']);
  await server.close();
});
