import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { WatchEvent } from '../harness/connection.ts';
import { Connection } from '../harness/connection.ts';
import type { Credentials } from '../harness/server.ts';
import { FairleadServer } from '../harness/server.ts';
import { openSocket } from './raw.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const mebibyte = 1024 * 1024;
const events = Number(process.env['FAIRLEAD_ABUSE_EVENTS'] ?? 50_000);

describe('misbehaving watch clients', () => {
  let server: FairleadServer;
  let credentials: Credentials;
  before(async () => {
    server = await FairleadServer.start();
    credentials = await server.credentials();
  });
  after(() => server[Symbol.asyncDispose]());

  const watches = async (): Promise<number> => {
    using connection = new Connection(server.port, credentials);
    const { body } = await connection.ask('GET', '/metrics');
    const lines = (body as string).matchAll(/^apiserver_longrunning_requests\{[^}]*verb="WATCH"[^}]*\} (\d+)$/gm);
    return Array.from(lines, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0);
  };

  test('releases the resources of 1,000 abandoned watches', async () => {
    const before = await server.residentBytes();
    for (let round = 0; round < 4; round++) {
      const connections = Array.from({ length: 2 }, () => new Connection(server.port, credentials));
      for (const connection of connections) {
        for (let count = 0; count < 100; count++) connection.watch(`${configMaps}?watch=1`, () => undefined);
      }
      const sockets = await Promise.all(Array.from({ length: 50 }, () => openSocket(server.port, credentials)));
      for (const socket of sockets) socket.write(`GET ${configMaps}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await until('all watches are open', async () => (await watches()) >= 250);
      for (const connection of connections) connection[Symbol.dispose]();
      for (const socket of sockets) socket.destroy();
      await until('all watches are closed', async () => (await watches()) === 0);
    }
    const grown = (await server.residentBytes()) - before;
    assert.ok(grown < 200 * mebibyte, `memory grew by ${Math.round(grown / mebibyte)} MiB`);
  });

  test(`disconnects a client that does not read, and delivers all ${events} events to others`, async (context) => {
    using writer = new Connection(server.port, credentials);
    using reader = new Connection(server.port, credentials);
    const { body: list } = await writer.ask('GET', configMaps);
    const query = `watch=1&resourceVersion=${list.metadata.resourceVersion}`;

    const idle = await openSocket(server.port, credentials);
    idle.pause();
    idle.write(`GET ${configMaps}?${query} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    let seen = 0;
    let last = Number(list.metadata.resourceVersion);
    let isInOrder = true;
    const onEvent = ({ object }: WatchEvent): void => {
      const revision = Number(object.metadata.resourceVersion);
      isInOrder &&= revision > last;
      last = revision;
      seen++;
    };
    const watch = reader.watch(`${configMaps}?${query}`, onEvent);
    await until('both watches are open', async () => (await watches()) === 2);

    let highest = 0;
    const text = 'x'.repeat(1000);
    let written = 0;
    const write = async (name: string): Promise<void> => {
      await writer.ask('POST', configMaps, { metadata: { name }, data: { text } });
      for (written++; written < events;) {
        const body = { data: { count: `${written++}` } };
        const { status } = await writer.ask('PATCH', `${configMaps}/${name}`, body, 'application/merge-patch+json');
        assert.equal(status, 200);
        if (written % 1000 === 0) highest = Math.max(highest, await server.residentBytes());
      }
    };
    await Promise.all(Array.from({ length: 32 }, (_, index) => write(`m${index}`)));
    await until('the reader has all events', async () => seen >= written);
    assert.equal(seen, written);
    assert.ok(isInOrder, 'in order');
    await until('only the watch of the reader is open', async () => (await watches()) === 1);
    assert.ok(highest < 600 * mebibyte, `the server grew to ${Math.round(highest / mebibyte)} MiB`);
    watch.close();

    let received = 0;
    idle.on('data', (chunk: Buffer) => (received += chunk.length));
    const closed = new Promise((resolve) => idle.on('close', resolve));
    idle.resume();
    await closed;
    assert.ok(received < events * 1000, 'the slow client received only a part');
    context.diagnostic(
      `${written} events; at most ${Math.round(highest / mebibyte)} MiB; the idle client got ${received} bytes`,
    );
  });
});
