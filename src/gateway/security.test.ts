// What a gateway accepts, and from whom.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp, createServer } from 'node:net';
import { connect as connectHttp2 } from 'node:http2';
import { suite, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { pino } from 'pino';
import { Registry } from 'prom-client';

import { importersAnnotation } from '../api/kinds/multicluster/gateway.ts';
import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import { Client } from '../client/client.ts';
import { issueCa } from '../server/pki/issue.ts';
import { until } from '../server/testing/until.ts';
import { startGateway } from './gateway.ts';
import type { GatewayTls } from './identity.ts';
import type { TestGateway } from './testing/gateways.ts';
import { echoServer, firstLine, gatewayTls, reaches, startSet, validity } from './testing/gateways.ts';

const port = 20_001;

async function pair(stack: AsyncDisposableStack) {
  const { ca, clusters } = await startSet(['east', 'west', 'north'], stack);
  const [east, west, north] = clusters;
  assert.ok(east && west && north);
  const remote = await east.gateway(stack);
  const local = await west.gateway(stack);
  await east.exports('web', [await echoServer(stack, 'east')], { importers: ['west'] });
  await west.imports('web', 'east', { port, gateways: [remote.peers] });
  await reaches({ host: local.address, port }, 'east');
  return { ca, east, west, north, remote, local };
}

/** The status of the first stream of a session, or why there is none. */
async function statusOf(
  { peers }: TestGateway,
  tls: Partial<GatewayTls>,
  { servername = 'web.shop.east', method = 'CONNECT', alpn = 'fairlead-gateway' } = {},
): Promise<string> {
  const socket = connectTls({ ...peers, ...tls, servername, rejectUnauthorized: false, ALPNProtocols: [alpn] });
  const session = connectHttp2('http://east', { createConnection: () => socket });
  try {
    return await new Promise((resolve) => {
      socket.on('error', () => resolve('closed')).once('close', () => resolve('closed'));
      session.on('error', () => resolve('closed'));
      const headers = method === 'CONNECT' ? { ':authority': 'web.shop.east' } : { ':path': '/' };
      const stream = session.request({ ':method': method, 'fairlead-port': 'TCP/main', ...headers });
      stream.on('error', () => resolve('closed')).once('response', (answer) => resolve(String(answer[':status'])));
    });
  } finally {
    session.destroy();
    socket.destroy();
  }
}

suite('a gateway accepts', () => {
  test('only certificates of its set, whose name is a cluster', async () => {
    await using stack = new AsyncDisposableStack();
    const { ca, west, remote } = await pair(stack);
    assert.equal(await statusOf(remote, west.tls), '200');
    assert.equal(await statusOf(remote, {}), 'closed');
    assert.equal(await statusOf(remote, await gatewayTls(await issueCa('another', validity), 'west')), 'closed');
    assert.equal(await statusOf(remote, await gatewayTls(ca, 'Not A Cluster')), 'closed');
  });

  test('only clusters to which the service is exported, and does not show them what else exists', async () => {
    await using stack = new AsyncDisposableStack();
    const { west, north, remote } = await pair(stack);
    assert.equal(await statusOf(remote, north.tls), '403');
    assert.equal(await statusOf(remote, west.tls, { servername: 'absent.shop.east' }), '403');
    assert.equal(await statusOf(remote, west.tls, { servername: 'web.other.east' }), '403');
    assert.equal(await statusOf(remote, west.tls, { servername: 'east' }), 'closed');
    assert.equal(await statusOf(remote, west.tls, { method: 'GET' }), '405');
    assert.equal(await statusOf(remote, west.tls, { alpn: 'h2' }), 'closed');
  });

  test('no cluster any more that left the audience, and ends its connections', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, local } = await pair(stack);
    const client = connectTcp({ host: local.address, port });
    stack.defer(() => void client.destroy());
    await new Promise((resolve) => client.once('data', resolve));
    const closed = new Promise((resolve) => client.once('close', resolve).on('error', () => undefined));
    await east.client.patch(
      endpointSliceKind,
      { namespace: 'shop', name: 'imported-web-east' },
      { body: { metadata: { annotations: { [importersAnnotation]: 'north' } } } },
    );
    await closed;
    await until('new connections fail', async () => (await firstLine({ host: local.address, port })) !== 'east');
  });

  test('no garbage, and serves others meanwhile', async () => {
    await using stack = new AsyncDisposableStack();
    const { local, remote } = await pair(stack);
    const silent = connectTcp(remote.peers);
    stack.defer(() => void silent.destroy());
    for (const bytes of [Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.alloc(100, 22), Buffer.from([22, 3, 1, 0, 0])]) {
      const socket = connectTcp(remote.peers);
      const closed = new Promise((resolve) => socket.once('close', resolve).on('error', () => undefined));
      socket.write(bytes);
      if (bytes[1] === 22) socket.end();
      await closed;
    }
    assert.equal(await firstLine({ host: local.address, port }), 'east');
  });
});

suite('a gateway connects', () => {
  test('only with the exporting cluster, and reports another one', async () => {
    await using stack = new AsyncDisposableStack();
    const { west, north, local } = await pair(stack);
    const wrong = await north.gateway(stack);
    await west.imports('other', 'east', { port: port + 1, gateways: [wrong.peers] });
    await until('the reason is logged', async () => {
      assert.notEqual(await firstLine({ host: local.address, port: port + 1 }), 'east');
      return wrong.logged.some((line) => line.includes('no gateway of cluster'));
    });
    assert.equal(await firstLine({ host: local.address, port }), 'east');
  });

  test('not with a certificate of another cluster at the right address', async () => {
    await using stack = new AsyncDisposableStack();
    const { ca, east, west } = await pair(stack);
    const impostor = await east.gateway(stack, { tls: async () => gatewayTls(ca, 'north'), renewMs: 60_000 });
    const local = await west.gateway(stack);
    // The impostor takes the server name for its own, as a stolen identity would.
    await west.imports('web', 'east', { port, gateways: [impostor.peers] });
    await until('the problem is registered', async () => {
      const slices = await west.client.list(endpointSliceKind, { namespace: 'fairlead-system' });
      return slices.items.some(({ metadata }) =>
        metadata.annotations?.['fairlead.dev/gateway-problems']?.includes('"east":"gateway 127'),
      );
    });
    assert.notEqual(await firstLine({ host: local.address, port }), 'east');
  });
});

test('renewed certificates are used without a dropped connection', async () => {
  await using stack = new AsyncDisposableStack();
  const { ca, east, west, remote, local } = await pair(stack);
  const client = connectTcp({ host: local.address, port });
  stack.defer(() => void client.destroy());
  await new Promise((resolve) => client.once('data', resolve));
  let isClosed = false;
  client.once('close', () => (isClosed = true));
  for (const cluster of [east, west]) cluster.tls = await gatewayTls(ca, cluster.id);
  for (const gateway of [remote, local])
    await until('the certificate is used', () => gateway.logged.some((line) => line.includes('certificates renewed')));
  for (let each = 0; each < 20; each++) assert.equal(await firstLine({ host: local.address, port }), 'east');
  client.write('still open\n');
  const [answer] = await new Promise<Buffer[]>((resolve) => client.once('data', (bytes: Buffer) => resolve([bytes])));
  assert.equal(answer?.toString(), 'still open\n');
  assert.equal(isClosed, false);
});

test('certificates that cannot be used are reported, and the previous ones stay in use', async () => {
  await using stack = new AsyncDisposableStack();
  const { ca, east, remote, local } = await pair(stack);
  const previous = east.tls;
  const { key } = await gatewayTls(ca, 'east');
  for (const [tls, reason] of [
    [{ ...previous, key }, 'key values mismatch'],
    [{ ...previous, cert: previous.cert.slice(0, 100) }, 'bad end line'],
    [await gatewayTls(ca, 'north'), 'the certificate is of cluster north, expected cluster east'],
  ] as const) {
    east.tls = tls;
    await until(`${reason} is logged`, () =>
      remote.logged.some((line) => line.includes('certificates not reloaded') && line.includes(reason)),
    );
  }
  assert.equal(await firstLine({ host: local.address, port }), 'east');
  east.tls = await gatewayTls(ca, 'east');
  await until('new certificates are used', () => remote.logged.some((line) => line.includes('certificates renewed')));
  await reaches({ host: local.address, port }, 'east');
});

test('a port that another program has is opened once it is free', async () => {
  await using stack = new AsyncDisposableStack();
  const { west, remote, local } = await pair(stack);
  const other = createServer().listen(port + 2, local.address);
  stack.defer(() => void other.close());
  await once(other, 'listening');
  await west.imports('web', 'east', { port: port + 2, gateways: [remote.peers] });
  await until('the problem is reported', () => local.part.problems().some((each) => each.includes('EADDRINUSE')));
  other.close();
  await reaches({ host: local.address, port: port + 2 }, 'east');
  assert.deepEqual(local.part.problems(), []);
});

test('a gateway whose API server does not answer stops', async () => {
  const ca = await issueCa('set', validity);
  const tls = await gatewayTls(ca, 'east');
  const client = new Client({
    request: () => Promise.reject(new Error('unreachable')),
    stream: () => assert.fail('nothing is listed'),
    [Symbol.dispose]: () => undefined,
  });
  const part = startGateway(
    { client, log: pino({ level: 'silent' }), metrics: new Registry() },
    { address: '127.0.0.1', listen: { host: '127.0.0.1', port: 0 }, relays: [], tls: async () => tls },
  );
  await part[Symbol.asyncDispose]();
});
