import assert from 'node:assert/strict';
import { test } from 'node:test';

import { testServer } from '../server/testing/server.ts';
import { Client } from './client.ts';
import { discover } from './discovery.ts';
import { inProcess } from './in-process.ts';
import type { Transport } from './transport.ts';

const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };

/** A server without aggregated discovery: it ignores the media type of the request. */
const older = (transport: Transport): Transport => ({
  ...transport,
  request: (call) => transport.request({ ...call, accept: 'application/json' }),
});

test('discovery group by group returns the same kinds as aggregated discovery', async () => {
  await using server = await testServer();
  const transport = inProcess((request) => server.handle({ ...request, user }));
  const atOnce = await discover(new Client(transport));
  const byGroup = await discover(new Client(older(transport)));
  assert.deepEqual(byGroup.map(textOf).sort(), atOnce.map(textOf).sort());
  const pods = atOnce.find(({ plural }) => plural === 'pods');
  assert.equal(pods?.kind, 'Pod');
  assert.equal(pods?.namespaced, true);
  assert.ok(pods?.verbs.includes('watch'));
});

test('marks exactly one version of a resource as preferred', async () => {
  await using server = await testServer();
  const found = await discover(new Client(inProcess((request) => server.handle({ ...request, user }))));
  const names = found.filter(({ isPreferred }) => isPreferred).map(({ group, plural }) => `${plural}.${group}`);
  assert.equal(new Set(names).size, names.length);
  assert.ok(found.length > names.length, 'there are resources in several versions');
});

const textOf = (kind: object): string => JSON.stringify(kind);
