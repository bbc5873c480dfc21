import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { openMemoryStore } from '../../store/memory/memory.ts';
import type { AdmissionPlugins } from './plugins.ts';
import { pluginNames } from './plugins.ts';

const services = '/api/v1/namespaces/default/services';
const merge = 'application/merge-patch+json';
const denying: AdmissionPlugins = new Set(pluginNames);

const web = (externalIPs: readonly string[]): object => ({
  metadata: { name: 'web' },
  spec: { ports: [{ port: 80 }], externalIPs },
});

/** A server over a store with the Service `default/web`, created with external IPs by a server that allows all. */
async function serverWith(externalIPs: readonly string[], options: Parameters<typeof testServer>[0]) {
  const store = openMemoryStore();
  {
    await using earlier = await testServer({ store, serviceCidrs: ['10.250.0.0/24'] });
    assert.equal((await earlier.ask('POST', services, { body: web(externalIPs) })).status, 201);
  }
  const server: TestServer = await testServer({ store, serviceCidrs: ['10.250.0.0/24'], ...options });
  return {
    server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

const set = async (server: TestServer, externalIPs: readonly string[] | null): Promise<string> => {
  const { status, body } = await server.ask('PATCH', `${services}/web`, {
    type: merge,
    body: { spec: { externalIPs } },
  });
  return status === 200 ? 'ok' : `${status} ${body.message}`;
};

suite('DenyServiceExternalIPs', () => {
  const denied = '403 services "web" is forbidden: Use of external IPs is denied by admission control';

  test('rejects only new Services with external IPs', async () => {
    await using server = await testServer({ admissionPlugins: denying });
    const { status, body } = await server.ask('POST', services, { body: web(['192.0.2.1']) });
    assert.equal(`${status} ${body.message}`, denied);
    assert.equal(body.reason, 'Forbidden');
    assert.equal((await server.ask('POST', services, { body: web([]) })).status, 201);
    assert.equal(await set(server, ['192.0.2.1']), denied);
  });

  test('accepts updates that keep or remove external IPs and rejects new ones', async () => {
    await using stand = await serverWith(['192.0.2.1', '192.0.2.2'], { admissionPlugins: denying });
    const { server } = stand;
    assert.equal(await set(server, ['192.0.2.2', '192.0.2.1']), 'ok');
    assert.equal(await set(server, ['192.0.2.2', '192.0.2.3']), denied);
    assert.equal(await set(server, ['192.0.2.2']), 'ok');
    assert.equal(await set(server, ['192.0.2.1', '192.0.2.2']), denied, 'a removed address is new again');
    const labelled = await server.ask('PATCH', `${services}/web`, {
      type: merge,
      body: { metadata: { labels: { a: 'b' } } },
    });
    assert.equal(labelled.status, 200);
    assert.equal(await set(server, null), 'ok');
  });

  test('is off by default', async () => {
    await using server = await testServer();
    assert.equal((await server.ask('POST', services, { body: web(['192.0.2.1']) })).status, 201);
  });
});

suite('external IPs in ranges of allocated addresses', () => {
  const ranges = { serviceCidrs: ['10.250.0.0/24'], otherAllocatedCidrs: ['10.251.0.0/24', 'fd00:251::/112'] };
  const refusal = (index: number, ip: string, range: string): string =>
    `422 Service "web" is invalid: spec.externalIPs[${index}]: Invalid value: "${ip}": must not be in ${range}, where addresses are allocated to Services and imports`;

  test('are rejected in new and updated Services', async () => {
    await using server = await testServer(ranges);
    const { status, body } = await server.ask('POST', services, { body: web(['192.0.2.1', '10.250.0.9']) });
    assert.equal(`${status} ${body.message}`, refusal(1, '10.250.0.9', '10.250.0.0/24'));
    assert.equal((await server.ask('POST', services, { body: web(['192.0.2.1']) })).status, 201);
    assert.equal(await set(server, ['10.251.0.1']), refusal(0, '10.251.0.1', '10.251.0.0/24'));
    assert.equal(await set(server, ['fd00:251::9']), refusal(0, 'fd00:251::9', 'fd00:251::/112'));
    assert.equal(await set(server, ['10.252.0.1']), 'ok');
  });

  test('can be kept and removed in a Service that has them', async () => {
    await using stand = await serverWith(['10.251.0.1', '10.251.0.2'], ranges);
    const { server } = stand;
    assert.equal(await set(server, ['10.251.0.2', '10.251.0.1']), 'ok');
    assert.equal(await set(server, ['10.251.0.2', '10.251.0.3']), refusal(1, '10.251.0.3', '10.251.0.0/24'));
    assert.equal(await set(server, ['10.251.0.1']), 'ok');
    assert.equal(await set(server, []), 'ok');
    assert.equal(await set(server, ['10.251.0.1']), refusal(0, '10.251.0.1', '10.251.0.0/24'));
  });
});
