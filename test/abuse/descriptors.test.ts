// Tests servers with few descriptors (`ulimit -n`) against clients that use as many as they can: the process keeps running, existing
// clients are served, and everything works again afterwards.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';

import { ask, named, namedUdp, udpClient } from '../../src/proxy/userspace/testing/echo.ts';
import { until } from '../../src/server/testing/until.ts';
import type { TestObject } from '../harness/connection.ts';
import { Connection } from '../harness/connection.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import type { Credentials } from '../harness/server.ts';
import { credentialsIn } from '../harness/server.ts';
import { Flood } from './flood.ts';

/** The descriptors that one cluster needs, as documented in docs/reference/access.md. */
const needed = 296;
const command = ['up', '--cluster', 'east', '--parts', 'server,dns,proxy', '--store', 'memory', '--log-level', 'error'];
const withDescriptors = (count: number): { readonly within: readonly string[] } => ({
  within: ['bash', '-c', `ulimit -n ${count}; exec "$@"`, 'fairlead'],
});

for (const count of [100, 200, needed - 1]) {
  test(`does not start with ${count} descriptors, and reports how many it needs`, async () => {
    await using data = await temporaryDirectory();
    await assert.rejects(
      startFairlead(data.path, command, withDescriptors(count)),
      new RegExp(`may open ${count} files and connections and needs ${needed}: raise the limit`),
    );
  });
}

interface Ports {
  readonly api: number;
  readonly dns: number;
}

function portsOf({ process: { out } }: Fairlead): Ports {
  const [, api, dns] = /https:\/\/127\.0\.0\.1:(\d+) +dns 127\.0\.0\.1:(\d+)/.exec(out) ?? [];
  return { api: Number(api), dns: Number(dns) };
}

const slices = (namespace: string): string => `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
const serviceOf = (namespace: string, name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace, name },
  spec,
});
const sliceOf = (namespace: string, service: string, ports: readonly object[]): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { namespace, generateName: `${service}-`, labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['127.192.88.1'], conditions: { ready: true } }],
  ports,
});

for (const count of [needed, 600, 1500]) {
  describe(`with ${count} descriptors`, () => {
    const stack = new AsyncDisposableStack();
    let fairlead: Fairlead;
    let ports: Ports;
    let credentials: Credentials;
    /** A client that connects before the attack. */
    let client: Connection;
    const seen: string[] = [];
    /** Service → its address. */
    const echo = new Map<string, string>();
    const pods = { tcp: 0, udp: 0 };

    before(async () => {
      const data = stack.use(await temporaryDirectory());
      fairlead = stack.use(await startFairlead(data.path, command, withDescriptors(count)));
      ports = portsOf(fairlead);
      credentials = await credentialsIn(fairlead.directory, 'east');
      client = stack.use(new Connection(ports.api, credentials));
      pods.tcp = stack.use(await named('127.192.88.1', 'pod')).port;
      pods.udp = stack.use(await namedUdp('127.192.88.1', 'pod')).port;
      await serve('tcp', 'TCP', pods.tcp);
      await serve('udp', 'UDP', pods.udp);
      client.watch('/api/v1/configmaps?watch=true', ({ object }) => seen.push(object.metadata.name));
      await servesEverybody();
    });
    after(() => stack.disposeAsync());

    const post = async (path: string, object: object): Promise<TestObject> => {
      const { status, body } = await client.ask('POST', path, object);
      assert.equal(status, 201, JSON.stringify(body).slice(0, 500));
      return body;
    };
    /** Creates a Service for a port of the Pod. */
    const serve = async (name: string, protocol: string, port: number): Promise<void> => {
      await post(slices('default'), sliceOf('default', name, [{ name: '', port, protocol }]));
      const spec = { ports: [{ port: 8000, protocol }] };
      const made = await post('/api/v1/namespaces/default/services', serviceOf('default', name, spec));
      echo.set(name, made['spec'].clusterIP);
    };
    const metric = async (name: string): Promise<number> => {
      const text = String((await client.ask('GET', '/metrics')).body);
      return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
    };

    /** Checks that the first client and its watch are served. */
    const servesBefore = async (): Promise<void> => {
      assert.equal((await client.ask('GET', '/readyz')).status, 200);
      const { metadata } = await post('/api/v1/namespaces/default/configmaps', { metadata: { generateName: 'seen-' } });
      await until('the watch has the Service', () => seen.includes(metadata.name));
      for (const origin of ['timer', 'exception', 'rejection']) {
        const name = `fairlead_uncaught_errors_total\\{origin="${origin}"\\}`;
        assert.equal(await metric(name), 0, fairlead.process.err);
      }
    };

    /** Checks that new clients of the API, of DNS and of Services are served after a while. */
    const servesEverybody = async (): Promise<void> => {
      await servesBefore();
      await until('a new client is served', async () => {
        using another = new Connection(ports.api, credentials);
        return (await another.ask('GET', '/readyz').catch(() => undefined))?.status === 200;
      });
      await until(
        'TCP connections are routed',
        async () => (await ask(echo.get('tcp') ?? '', { at: 8000 })) === 'pod\nhi',
      );
      await until('UDP datagrams are routed', async () => {
        await using udp = await udpClient(echo.get('udp') ?? '', 8000);
        return (await udp.ask('1')) === 'pod 1';
      });
      await until('DNS answers over TCP', () => resolvesOverTcp(ports.dns));
    };

    const floods: Readonly<Record<string, (flood: Flood) => Promise<void>>> = {
      'idle connections to the API': (flood) => flood.tcp(1900, '127.0.0.1', ports.api),
      'half-open TLS': (flood) => flood.tcp(1900, '127.0.0.1', ports.api, Buffer.from('160301020001000100', 'hex')),
      'idle connections to DNS': (flood) => flood.tcp(1900, '127.0.0.1', ports.dns),
      'connections to a Service': (flood) => flood.tcp(1900, echo.get('tcp') ?? '', 8000, 'x'),
      'UDP flows': (flood) => flood.udp(1900, echo.get('udp') ?? '', 8000),
    };
    for (const [name, start] of Object.entries(floods)) {
      test(`survives ${name}`, async () => {
        {
          using flood = new Flood();
          await start(flood);
          await servesBefore();
        }
        await servesEverybody();
      });
    }

    test('survives all of them at once', async () => {
      {
        using flood = new Flood();
        await Promise.all(Object.values(floods).map((start) => start(flood)));
        await servesBefore();
      }
      await servesEverybody();
    });

    test('survives watches on many connections', async () => {
      const connections = Array.from({ length: 40 }, () => new Connection(ports.api, credentials));
      const watches = connections.flatMap((connection) =>
        Array.from({ length: 40 }, () => {
          // Requests over the limit are rejected, as intended
          return connection.watch('/api/v1/services?watch=true', () => undefined);
        }),
      );
      await servesBefore();
      for (const watch of watches) watch.close();
      for (const connection of connections) connection[Symbol.dispose]();
      await servesEverybody();
    });

    test('routes a part of a Service of 6,000 ports, reports the rest, and routes a Service that is created later', async () => {
      await post('/api/v1/namespaces', { metadata: { name: 'greedy' } });
      const all = Array.from({ length: 6000 }, (_, index) => ({ name: `p${index}`, port: 10_000 + index }));
      for (let at = 0; at < all.length; at += 100) {
        const ports = all.slice(at, at + 100).map(({ name }) => ({ name, port: 9, protocol: 'TCP' }));
        await post(slices('greedy'), sliceOf('greedy', 'big', ports));
      }
      await post('/api/v1/namespaces/greedy/services', serviceOf('greedy', 'big', { ports: all }));
      await until('an Event reports the ports that are not routed', async () => {
        const { body } = await client.ask('GET', '/api/v1/namespaces/greedy/events');
        return body.items.some(
          ({ reason, message }: { reason: string; message: string }) =>
            reason === 'NotServed' && message.startsWith('Service greedy/big is not served at all of its addresses'),
        );
      });
      assert.ok((await metric('fairlead_proxy_unopened_routes')) > 5000);
      await serve('later', 'TCP', pods.tcp);
      await until(
        'TCP arrives there too',
        async () => (await ask(echo.get('later') ?? '', { at: 8000 })) === 'pod\nhi',
      );
      await servesEverybody();
      await client.ask('DELETE', '/api/v1/namespaces/greedy/services/big');
      await until('all routes are opened', async () => (await metric('fairlead_proxy_unopened_routes')) === 0);
      await servesEverybody();
    });
  });
}

/** Queries a name of the cluster over a new connection. */
async function resolvesOverTcp(port: number): Promise<boolean> {
  const labels = ['kubernetes', 'default', 'svc', 'cluster', 'local'];
  const name = Buffer.concat([...labels.map((label) => Buffer.from(`\0${label}`)), Buffer.from([0])]);
  let at = 0;
  for (const label of labels) {
    name[at] = label.length;
    at += label.length + 1;
  }
  const query = Buffer.concat([Buffer.from('000001000001000000000000', 'hex'), name, Buffer.from('00010001', 'hex')]);
  const socket = connect({ host: '127.0.0.1', port });
  try {
    socket.on('error', () => undefined);
    socket.write(Buffer.concat([Buffer.from([0, query.length]), query]));
    const answer = await new Promise<Buffer | boolean>((resolve) =>
      socket.once('data', resolve).once('close', resolve),
    );
    return Buffer.isBuffer(answer) && answer.readUInt16BE(8) === 1; // two bytes of length, then ANCOUNT is at 6
  } finally {
    socket.destroy();
  }
}
