import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';

import { secretKind } from '../../api/kinds/core/secret/kind.ts';
import type { Secret } from '../../api/kinds/core/secret/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { decode } from '../../api/schema/decode.ts';
import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import type { TestServer } from '../../server/testing/server.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import type { Row } from '../view/rows.ts';
import { Board } from './board.ts';
import { readOverview } from './read-overview.ts';
import { allRights } from './rights.ts';

const log = pino({ level: 'silent' });
const admin = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
const part = { name: 'system:fairlead:dashboard', uid: '', groups: ['system:authenticated'] };
const clientOf = (server: TestServer, user = part): Client =>
  new Client(inProcess((request) => server.handle({ ...request, user })));
const shown = (server: TestServer, name = 'east') => ({ name, server: 'https://192.0.2.1', client: clientOf(server) });
const web = (labels: Record<string, string> = {}): Service =>
  decode<Service>(serviceKind.schema, {
    metadata: { namespace: 'default', name: 'web', labels },
    spec: { ports: [{ port: 80 }], selector: { app: 'web' } },
  }).object;

test('with the rights of its own user, delivers each change once per window, and the row is up to date', async () => {
  await using server = await testServer();
  using client = clientOf(server, admin);
  await using board = new Board({ clusters: [shown(server)], log, windowMs: 1 });
  await Promise.all(board.feeds.map(({ synced }) => synced));
  const seen: string[] = [];
  board.subscribe(({ ids }) => seen.push(...ids));
  await client.create(serviceKind, web());
  const row = (): Row | undefined => board.row('service/east/default/web', () => allRights);
  await until('the new Service is delivered', () => seen.includes('service/east/default/web'));
  assert.equal(row()?.findings[0]?.reason, 'NoEndpoints');
  await client.delete(serviceKind, { namespace: 'default', name: 'web' });
  await until('the row is gone', () => row() === undefined);
});

test('shows no row of kinds that a viewer may not read', async () => {
  await using server = await testServer();
  using client = clientOf(server, admin);
  await client.create(serviceKind, web());
  await using board = new Board({ clusters: [shown(server)], log });
  await Promise.all(board.feeds.map(({ synced }) => synced));
  const ids = (services: boolean): readonly string[] =>
    Array.from(
      board.rows(() => ({ ...allRights, services })),
      ({ id }) => id,
    ).toSorted();
  assert.deepEqual(ids(false), ['cluster/east']);
  assert.deepEqual(ids(true), ['cluster/east', 'service/east/default/kubernetes', 'service/east/default/web']);
});

test('requests no Secret, and its user may not read one', async () => {
  await using server = await testServer();
  using client = clientOf(server, admin);
  const secret = { metadata: { namespace: 'default', name: 's' }, data: { password: 'aHVudGVyMg==' } };
  await client.create(secretKind, decode<Secret>(secretKind.schema, secret).object);
  const requested: string[] = [];
  const spied = new Client(
    inProcess((request) => {
      requested.push(request.url);
      return server.handle({ ...request, user: part });
    }),
  );
  await using board = new Board({ clusters: [{ ...shown(server), client: spied }], log });
  await Promise.all(board.feeds.map(({ synced }) => synced));
  assert.ok(requested.length > 5);
  assert.deepEqual(
    requested.filter((url) => url.includes('secrets')),
    [],
  );
  assert.doesNotMatch(JSON.stringify([...board.rows(() => allRights)]), /aHVudGVyMg|hunter2/);
  await assert.rejects(spied.list(secretKind), { message: /forbidden/ });
});

test('a cluster that does not answer is lost, with the reason, and the others are read', async () => {
  await using server = await testServer();
  const lost = new Client(inProcess(() => Promise.reject(new Error('connect ECONNREFUSED 192.0.2.9:6443'))));
  const clusters = [shown(server), { ...shown(server, 'west'), client: lost }];
  const overview = await readOverview(clusters, { timeoutMs: 60_000, log });
  assert.deepEqual(
    overview.clusters.map(({ cluster, state }) => [cluster, state]),
    [
      ['east', 'ok'],
      ['west', 'lost'],
    ],
  );
  assert.match(overview.attention[0]?.text ?? '', /requests to cluster west fail: .*ECONNREFUSED/);
});
