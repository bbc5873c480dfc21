import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { test } from 'node:test';
import { encode } from 'dns-packet';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import { Client } from '../client/client.ts';
import { inProcess } from '../client/in-process.ts';
import { testServer } from '../server/testing/server.ts';
import type { TestServer } from '../server/testing/server.ts';
import { until } from '../server/testing/until.ts';
import { defaultDnsOptions } from './options.ts';
import type { DnsOptions } from './options.ts';
import type { Endpoint } from './forward/udp.ts';
import type { ServedZones } from './records/apex.ts';
import type { RunningDnsPart } from './dns.ts';
import { startDns } from './dns.ts';
import { answers, FakeUpstream } from './forward/testing/fake-upstream.ts';

const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
const clientOf = (server: TestServer): Client =>
  new Client(inProcess((request) => server.handle({ ...request, user })));

/** Options of a server on a free port that forwards to `upstreams`, none by default. */
const options = (given: TestOptions = {}): DnsOptions => {
  const { listen = { address: '127.0.0.1', port: 0 }, upstreams = [], zones } = given;
  return {
    ...defaultDnsOptions,
    listen: [listen],
    lameduckMs: 0,
    zones: { ...defaultDnsOptions.zones, ...zones },
    forward: { ...defaultDnsOptions.forward, upstreams },
  };
};

interface TestOptions {
  readonly listen?: Endpoint;
  readonly upstreams?: readonly Endpoint[];
  readonly zones?: Partial<ServedZones>;
}

function start(client: Client, given?: TestOptions) {
  const metrics = new Registry();
  const dns: RunningDnsPart = startDns({ client, log: pino({ level: 'silent' }), metrics }, options(given));
  return { dns, metrics };
}

function resolverOf(dns: RunningDnsPart): Resolver {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  resolver.setServers((dns.listens ?? []).map(({ address, port }) => `${address}:${port}`));
  return resolver;
}

const web = 'kubernetes.default.svc.cluster.local';

test('problems() reports a server that is starting or stopping', async () => {
  await using server = await testServer();
  const { dns } = start(clientOf(server));
  assert.deepEqual(dns.problems(), ['the sockets are not open yet']);
  assert.deepEqual(dns.listens, []);
  await dns.ready;
  assert.deepEqual(dns.problems(), []);
  assert.equal((await resolverOf(dns).resolve4(web)).length, 1);
  const stopping = dns[Symbol.asyncDispose]();
  assert.deepEqual(dns.problems(), ['the server is stopping']);
  await stopping;
});

test('a reload applies other options and continues serials and counters', async () => {
  await using server = await testServer();
  const client = clientOf(server);
  const { dns, metrics } = start(client);
  await dns.ready;
  const resolver = resolverOf(dns);
  const ttl = async (): Promise<number | undefined> => (await resolver.resolve4(web, { ttl: true }))[0]?.ttl;
  const soa = async (zone: string): Promise<number> => (await resolver.resolveSoa(zone)).serial;
  assert.equal(await ttl(), 30);
  await client.create(serviceKind, {
    metadata: { namespace: 'default', name: 'web' },
    spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
    status: { loadBalancer: {} },
  });
  await until(
    'the Service is published',
    async () => (await resolver.resolve4('web.default.svc.cluster.local').catch(() => [])).length,
  );
  const before = await soa('cluster.local');
  await Promise.all([dns.reload(options({ zones: { ttl: 7 } })), dns.reload(options({ zones: { ttl: 9 } }))]);
  assert.equal(await ttl(), 9, 'the last of two concurrent reloads');
  assert.ok((await soa('cluster.local')) > before);
  assert.deepEqual(dns.problems(), []);
  const counted = await metrics.getSingleMetric('coredns_dns_requests_total')?.get();
  assert.ok((counted?.values.reduce((sum, { value }) => sum + value, 0) ?? 0) >= 5);
  await dns.reload(options({ zones: { clusterDomain: 'other.example' } }));
  assert.equal((await resolver.resolve4('web.default.svc.other.example')).length, 1);
  await dns[Symbol.asyncDispose]();
});

test('a reload keeps the cache', async () => {
  await using server = await testServer();
  await using upstream = await FakeUpstream.start(answers('192.0.2.1'));
  const given = { upstreams: [upstream.endpoint] };
  const { dns } = start(clientOf(server), given);
  await dns.ready;
  const resolver = resolverOf(dns);
  assert.deepEqual(await resolver.resolve4('www.example.org'), ['192.0.2.1']);
  const count = (): number => upstream.arrivals.filter(({ name }) => name === 'www.example.org').length;
  const before = count();
  await dns.reload(options({ ...given, zones: { ttl: 9 } }));
  assert.deepEqual(await resolver.resolve4('www.example.org'), ['192.0.2.1']);
  assert.equal(count(), before);
  await dns[Symbol.asyncDispose]();
});

test('a reload that disables or enables forwarding changes the RA flag', async () => {
  await using server = await testServer();
  await using upstream = await FakeUpstream.start(answers('192.0.2.1'));
  const { dns } = start(clientOf(server));
  await dns.ready;
  const recursion = async (): Promise<boolean> => {
    const socket = createSocket('udp4');
    const { port = 0 } = dns.listens?.[0] ?? {};
    socket.send(encode({ type: 'query', id: 1, questions: [{ name: web, type: 'A' }] }), port, '127.0.0.1');
    const [reply] = (await once(socket, 'message')) as [Buffer];
    socket.close();
    return (reply.readUInt8(3) & 0x80) !== 0;
  };
  assert.equal(await recursion(), false);
  await dns.reload(options({ upstreams: [upstream.endpoint] }));
  assert.equal(await recursion(), true);
  await dns.reload(options());
  assert.equal(await recursion(), false);
  await dns[Symbol.asyncDispose]();
});

test('stops during a start or a reload that cannot sync', async () => {
  await using server = await testServer();
  let isAway = false;
  const transport = inProcess((request) => {
    if (isAway) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    return server.handle({ ...request, user });
  });
  const { dns } = start(new Client(transport));
  await dns.ready;
  isAway = true;
  const reloading = dns.reload(options({ zones: { ttl: 9 } }));
  await dns[Symbol.asyncDispose]();
  await reloading;

  const { dns: second } = start(new Client(transport));
  await until('the sockets are open', () => (second.listens?.length ?? 0) > 0);
  await assert.rejects(resolverOf(second).resolve4(web), { code: 'ESERVFAIL' }, 'nothing is denied');
  assert.match(second.problems()[0] ?? '', /^the namespaces have not been read yet: connect ECONNREFUSED$/);
  await second[Symbol.asyncDispose]();
});

test('ready rejects with the address of a port that is in use', async () => {
  await using server = await testServer();
  const { dns } = start(clientOf(server));
  await dns.ready;
  const { port = 0 } = dns.listens?.[0] ?? {};
  const { dns: second } = start(clientOf(server), { listen: { address: '127.0.0.1', port } });
  await assert.rejects(second.ready, { message: new RegExp(`DNS port 127\\.0\\.0\\.1:${port} is in use`) });
  await second[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});
