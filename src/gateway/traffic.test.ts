// What a gateway carries: bytes, datagrams, ends of connections, and the loss of replicas.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { suite, test } from 'node:test';

import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import { gatewayProblemsAnnotation, gatewayProxyProtocolAnnotation } from '../api/kinds/multicluster/gateway.ts';
import { until } from '../server/testing/until.ts';
import { echoServer, firstLine, reaches, startSet } from './testing/gateways.ts';

const port = 20_002;

async function two(stack: AsyncDisposableStack) {
  const [east, west] = (await startSet(['east', 'west'], stack)).clusters;
  assert.ok(east && west);
  const remote = await east.gateway(stack);
  const local = await west.gateway(stack);
  return { east, west, remote, local };
}

suite('gateways carry', () => {
  test('megabytes in both directions, beside a client that does not read', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, remote, local } = await two(stack);
    await east.exports('web', [await echoServer(stack, 'east')], { importers: ['west'] });
    await west.imports('web', 'east', { port, gateways: [remote.peers] });
    const place = { host: local.address, port };
    await reaches(place, 'east');
    const stalled = connect(place);
    stack.defer(() => void stalled.destroy());
    stalled.pause();
    stalled.write(Buffer.alloc(8 << 20));
    const client = connect(place);
    let received = 0;
    client.on('data', (bytes: Buffer) => (received += bytes.length));
    client.end(Buffer.alloc(4 << 20, 1)); // the endpoint answers after the end of the request, too
    await once(client, 'end');
    assert.equal(received, (4 << 20) + 'east\n'.length);
  });

  test('datagrams, and their answers to each client', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, remote, local } = await two(stack);
    const server = createSocket('udp4');
    server.on('message', (bytes, from) =>
      server.send(Buffer.concat([Buffer.from('re '), bytes]), from.port, from.address),
    );
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    stack.defer(() => void server.close());
    await east.exports('dns', [{ host: '127.0.0.1', port: server.address().port }], {
      importers: ['west'],
      protocol: 'UDP',
    });
    await west.imports('dns', 'east', { port, gateways: [remote.peers], protocol: 'UDP' });
    const answers = await Promise.all(
      ['a', 'b', 'c'.repeat(9000)].map(async (text) => {
        const client = createSocket('udp4');
        stack.defer(() => void client.close());
        const received: string[] = [];
        client.on('message', (bytes) => received.push(bytes.toString()));
        await until('an answer arrives', async () => {
          if (received.length === 0) client.send(text, port, local.address, () => undefined);
          await new Promise((resolve) => setTimeout(resolve, 20));
          return received.length > 0;
        });
        return received[0];
      }),
    );
    assert.deepEqual(answers, ['re a', 're b', `re ${'c'.repeat(9000)}`]);
  });

  test('the address of the client in the PROXY protocol, if the Service requests it', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, remote, local } = await two(stack);
    const annotations = { [gatewayProxyProtocolAnnotation]: 'v1' };
    const server = createServer((socket) => void socket.once('data', (bytes) => socket.end(bytes)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    stack.defer(() => void server.close());
    const address = server.address();
    const endpoint = { host: '127.0.0.1', port: typeof address === 'object' && address !== null ? address.port : 0 };
    await east.exports('web', [endpoint], { importers: ['west'], annotations });
    await west.imports('web', 'east', { port, gateways: [remote.peers] });
    const line = await until('it connects', async () => {
      const text = await firstLine({ host: local.address, port });
      return text.startsWith('PROXY') ? text : undefined;
    });
    assert.match(line, new RegExp(`^PROXY TCP4 127\\.0\\.0\\.1 127\\.0\\.0\\.1 \\d+ ${endpoint.port}$`));
  });
});

suite('without a replica', () => {
  test('of the remote gateway, connections use another one', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, remote, local } = await two(stack);
    const second = await east.gateway(stack);
    await east.exports('web', [await echoServer(stack, 'east')], { importers: ['west'] });
    await west.imports('web', 'east', { port, gateways: [remote.peers, second.peers] });
    const place = { host: local.address, port };
    await reaches(place, 'east');
    await remote.stop();
    for (let each = 0; each < 10; each++) assert.equal(await firstLine(place), 'east');
  });

  test('that answers, connections use another one, and the stall is reported', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, remote } = await two(stack);
    const second = await east.gateway(stack);
    // Without pings in time, only the missing answer shows that a session stalls.
    const local = await west.gateway(stack, { probeTimes: { everyMs: 60_000, timeoutMs: 60_000 } });
    const sockets: Socket[] = [];
    const between = createServer((client) => {
      const server = connect(remote.peers);
      sockets.push(client, server);
      for (const each of [client, server]) each.on('error', () => undefined);
      client.pipe(server).pipe(client);
    });
    between.listen(0, '127.0.0.1');
    await once(between, 'listening');
    stack.defer(() => {
      for (const socket of sockets) socket.destroy();
      between.close();
    });
    const address = between.address();
    const stalling = { host: '127.0.0.1', port: typeof address === 'object' && address !== null ? address.port : 0 };
    await east.exports('web', [await echoServer(stack, 'east')], { importers: ['west'] });
    await west.imports('web', 'east', { port, gateways: [stalling, second.peers] });
    const place = { host: local.address, port };
    await reaches(place, 'east');
    await until('both are used', async () => {
      await firstLine(place);
      return sockets.length > 0;
    });
    for (const socket of sockets) socket.unpipe();
    const start = performance.now();
    for (let each = 0; each < 10; each++) assert.equal(await firstLine(place), 'east');
    assert.ok(performance.now() - start < 30_000, 'only the first connection waits for the one that stalls');
    await until('it is reported', async () => {
      const { items } = await west.client.list(endpointSliceKind, { namespace: 'fairlead-system' });
      return items.some(({ metadata }) =>
        metadata.annotations?.[gatewayProblemsAnnotation]?.includes('no answer within'),
      );
    });
  });

  test('its condition says so, and the replica registers again when it is back', async () => {
    await using stack = new AsyncDisposableStack();
    const { west, local } = await two(stack);
    await west.gateway(stack);
    const ready = async (): Promise<string> => {
      const { items } = await west.client.list(endpointSliceKind, { namespace: 'fairlead-system' });
      return items
        .map(({ endpoints }) => String(endpoints?.[0]?.conditions.ready))
        .toSorted()
        .join();
    };
    await until('both are ready', async () => (await ready()) === 'true,true');
    // A process that was killed leaves its slice as it is: the other replica corrects it.
    const gone = {
      ...(await slicesOf(local.address)),
      endpoints: [{ addresses: ['127.0.0.9'], conditions: { ready: true } }],
    };
    await west.client.create(endpointSliceKind, gone);
    await until('the dead one is not ready', async () => (await ready()) === 'false,true,true');
    await local.stop();
    await until('a stopped one is not ready at once', async () => (await ready()) === 'false,false,true');
    await west.gateway(stack, { address: local.address });
    await until('it is ready again', async () => (await ready()) === 'false,true,true');

    async function slicesOf(address: string) {
      const { items } = await west.client.list(endpointSliceKind, { namespace: 'fairlead-system' });
      const slice = items.find(({ endpoints }) => endpoints?.[0]?.addresses?.[0] === address);
      assert.ok(slice);
      const { labels = {} } = slice.metadata;
      const metadata = { namespace: 'fairlead-system', name: 'fairlead-gateway-gone', labels };
      return { ...slice, metadata };
    }
  });
});
