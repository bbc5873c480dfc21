import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { Counter } from 'prom-client';
import { isStatusError } from '../../api/errors.ts';
import { secretKind } from '../../api/kinds/core/secret/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { RunningPart } from '../../client/part.ts';
import { settled } from '../../client/testing/clocks.ts';
import { testServer } from '../../server/testing/server.ts';
import type { StartPart } from '../part/part.ts';
import { ClusterParts } from './cluster-parts.ts';
import type { LoadedPart } from './cluster-parts.ts';
import type { RunningServer } from './servers.ts';

const log = pino({ level: 'silent' });

/** A part that lists Services at its start, and counts its starts. */
const reader: StartPart = ({ client, metrics }): RunningPart => {
  new Counter({ name: 'reads_total', help: 'Reads.', registers: [metrics] }).inc();
  return {
    ready: client.list(serviceKind).then(() => undefined),
    problems: () => [],
    [Symbol.asyncDispose]: async () => undefined,
  };
};

const part = (name: LoadedPart['name'], start: StartPart): LoadedPart => ({ name, cluster: 'east', start });

async function serve(): Promise<{ readonly server: RunningServer } & AsyncDisposable> {
  const api = await testServer();
  return {
    server: {
      cluster: { name: 'east', listen: { host: '', port: 0 }, serviceCidrs: [], loopbackEndpoints: [] },
      url: 'https://127.0.0.1:6443',
      handle: (request, user) => api.handle({ ...request, user }),
      tls: () => ({ cert: '', key: '', ca: '' }),
      renew: () => undefined,
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

test('a part acts in its own cluster as its own user, with the rights of its role', async () => {
  await using api = await serve();
  await using stack = new AsyncDisposableStack();
  const parts = new ClusterParts(log);
  const refused = Promise.withResolvers<unknown>();
  const start: StartPart = (context) => {
    context.client.list(secretKind).catch(refused.resolve);
    return reader(context);
  };
  parts.start(api.server, [part('dns', start), { name: 'proxy', cluster: 'west', start: reader }], stack);
  await parts.ready();
  assert.deepEqual(parts.states('east'), [{ name: 'dns', problems: [] }]);
  assert.deepEqual(parts.states('west'), []);
  const error = await refused.promise;
  assert.ok(isStatusError(error));
  assert.match(error.message, /User "system:fairlead:dns" cannot list resource "secrets"/);
});

test('metrics of two parts are printed together, each name once', async () => {
  await using api = await serve();
  await using stack = new AsyncDisposableStack();
  const parts = new ClusterParts(log);
  assert.equal(await parts.metrics('east'), '');
  parts.start(api.server, [part('dns', reader), part('proxy', reader)], stack);
  await parts.ready();
  const text = await parts.metrics('east');
  assert.equal(text.match(/^# TYPE rest_client_requests_total counter$/gm)?.length, 1);
  for (const name of ['dns', 'proxy'])
    assert.match(text, new RegExp(`^fairlead_part_ready\\{part="${name}"\\} 1$`, 'm'));
  assert.match(text, /^reads_total 2$/m);
});

test('a part that cannot start is reported, and the others run', async () => {
  await using api = await serve();
  await using stack = new AsyncDisposableStack();
  const parts = new ClusterParts(log);
  const start: StartPart = () => ({
    ready: Promise.reject(new Error('port 1053 is in use')),
    problems: () => [],
    [Symbol.asyncDispose]: async () => undefined,
  });
  parts.start(api.server, [part('dns', start), part('proxy', reader)], stack);
  await parts.ready();
  await settled();
  assert.deepEqual(parts.states('east'), [
    { name: 'dns', problems: ['the component failed and is restarted: port 1053 is in use'] },
    { name: 'proxy', problems: [] },
  ]);
});
