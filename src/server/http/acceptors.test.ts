import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';

import { loadCLibrary } from '../../machine/c-library.ts';
import { until } from '../testing/until.ts';
import { openAcceptors } from './acceptors.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const portOf = (server: Server): number => {
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
};

test('accepts many connections in one turn of the event loop and loses none', async (context) => {
  if ((await loadCLibrary()) === undefined) {
    context.skip('native calls are not available');
    return;
  }
  const accepted: Socket[] = [];
  const server = createServer((socket) => void accepted.push(socket));
  server.listen({ host: '127.0.0.1', port: 0, backlog: 512 });
  await once(server, 'listening');
  const acceptors = await openAcceptors(server);
  assert.ok(acceptors.length > 0);
  for (const acceptor of acceptors) acceptor.on('connection', (socket) => server.emit('connection', socket));

  const clients = Array.from({ length: 320 }, () => connect(portOf(server), '127.0.0.1'));
  let turns = 0;
  for (; accepted.length < clients.length && turns < 320; turns++) await turn();
  await until('all are accepted', () => accepted.length === clients.length);
  assert.ok(turns < 320 / 2, `${turns} turns for 320 connections`);

  const servers = [server, ...acceptors];
  const closed = servers.map((each) => once(each, 'close'));
  for (const each of servers) each.close();
  for (const socket of [...clients, ...accepted]) socket.destroy();
  await Promise.all(closed);
});

test('returns no acceptors for a closed server', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  assert.deepEqual(await openAcceptors(server), []);
});
