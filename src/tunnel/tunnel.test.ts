import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { suite, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { pino } from 'pino';

import { connectThrough } from '../client/http-proxy.ts';
import { systemClock } from '../client/clock.ts';
import type { KeyPair } from '../server/pki/issue.ts';
import { issue, issueCa } from '../server/pki/issue.ts';
import { runTunnel } from './connect.ts';
import { Hub } from './hub.ts';
import { tunnelProxy } from './proxy.ts';

const validity = { now: new Date(), days: 1 };
const log = pino({ level: 'silent' });
const probeTimes = { everyMs: 200, timeoutMs: 20_000 };

const portOf = (server: { address(): AddressInfo | string | null }): number => (server.address() as AddressInfo).port;

async function listening<S extends { listen(port: number, host: string): unknown } & NodeJS.EventEmitter>(
  server: S,
): Promise<S> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** A stand-in for an API server: it answers each connection with its name, and then echoes. */
async function echo(stack: AsyncDisposableStack, name: string): Promise<Server> {
  const sockets = new Set<Socket>();
  const server = await listening(
    createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
      socket.write(`${name}\n`);
      socket.pipe(socket);
    }),
  );
  stack.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return server;
}

interface Setup {
  readonly hub: Hub;
  readonly hubPort: number;
  readonly proxy: URL;
  readonly pair: (name: string) => Promise<KeyPair & { ca: string }>;
  /** Connects a cluster; the signal of the result ends its tunnel. */
  readonly join: (cluster: string, server: { host: string; port: number }, as?: string) => Promise<AbortController>;
}

async function setup(stack: AsyncDisposableStack, clusters?: readonly string[]): Promise<Setup> {
  const ca = await issueCa('tunnel', validity);
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] };
  const hubPair = await issue(ca, { use: 'server', commonName: 'hub', names }, validity);
  const hub = stack.use(new Hub({ tls: { ...hubPair, ca: ca.cert }, log, probeTimes, ...(clusters && { clusters }) }));
  const hubPort = await hub.listen('127.0.0.1', 0);
  const server = await listening(tunnelProxy(hub));
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const pair: Setup['pair'] = async (name) => ({
    ...(await issue(ca, { use: 'client', commonName: name, groups: [] }, validity)),
    ca: ca.cert,
  });
  return {
    hub,
    hubPort,
    proxy: new URL(`http://127.0.0.1:${portOf(server)}`),
    pair,
    async join(cluster, apiServer, as = cluster) {
      const stop = new AbortController();
      const tls = await pair(as);
      const options = {
        hub: { host: '127.0.0.1', port: hubPort },
        tls: async () => tls,
        server: apiServer,
        log,
        clock: systemClock,
        probeTimes,
      };
      const ended = runTunnel(options, stop.signal);
      stack.defer(async () => {
        stop.abort();
        await ended;
      });
      return stop;
    },
  };
}

async function until(isTrue: () => boolean): Promise<void> {
  for (const end = performance.now() + 20_000; !isTrue();) {
    assert.ok(performance.now() < end, 'not within 20 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const open = (proxy: URL, cluster: string): Promise<Socket> =>
  connectThrough(proxy, { host: cluster, port: 443 }, 10_000);

async function firstLine(socket: Socket): Promise<string> {
  socket.resume();
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return bytes.toString().trim();
}

suite('a tunnel', () => {
  test('connects clients with the API server of the cluster that they name', async () => {
    await using stack = new AsyncDisposableStack();
    const { hub, proxy, join } = await setup(stack);
    for (const cluster of ['east', 'west']) {
      const server = await echo(stack, `server of ${cluster}`);
      await join(cluster, { host: '127.0.0.1', port: portOf(server) });
    }
    await until(() => hub.clusters.length === 2);
    assert.deepEqual(hub.clusters, ['east', 'west']);
    const sockets = await Promise.all(['east', 'west', 'east'].map((cluster) => open(proxy, cluster)));
    assert.deepEqual(await Promise.all(sockets.map(firstLine)), ['server of east', 'server of west', 'server of east']);
    for (const socket of sockets) socket.destroy();
  });

  test('carries megabytes in both directions, beside a client that does not read', async () => {
    await using stack = new AsyncDisposableStack();
    const { hub, proxy, join } = await setup(stack);
    const server = await echo(stack, 'east');
    await join('east', { host: '127.0.0.1', port: portOf(server) });
    await until(() => hub.clusters.length === 1);
    const stalled = await open(proxy, 'east');
    stalled.pause();
    stalled.write(Buffer.alloc(8 << 20)); // echoed, and never read
    const socket = await open(proxy, 'east');
    assert.equal(await firstLine(socket), 'east');
    let received = 0;
    const done = Promise.withResolvers<void>();
    socket.once('close', () => done.reject(new Error(`closed after ${received} bytes`)));
    socket.on('data', (bytes: Buffer) => {
      received += bytes.length;
      if (received === 4 << 20) done.resolve();
    });
    socket.write(Buffer.alloc(4 << 20, 1));
    await done.promise;
    socket.destroy();
    stalled.destroy();
  });

  test('reports a cluster that is not connected, and an API server that cannot be reached', async () => {
    await using stack = new AsyncDisposableStack();
    const { hub, proxy, join } = await setup(stack);
    await assert.rejects(
      open(proxy, 'north'),
      /does not connect to north:443: cluster "north" is not connected to this hub/,
    );
    const gone = await listening(createServer());
    const port = portOf(gone);
    gone.close();
    await join('east', { host: '127.0.0.1', port });
    await until(() => hub.clusters.length === 1);
    await assert.rejects(
      open(proxy, 'east'),
      /cluster "east": its API server 127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/,
    );
    const plain = await fetch(proxy);
    assert.equal(plain.status, 405);
  });

  test('accepts only certificates of its authority, and only the clusters that are allowed', async () => {
    await using stack = new AsyncDisposableStack();
    const { hub, hubPort, join } = await setup(stack, ['east']);
    await join('east', { host: '127.0.0.1', port: 1 });
    await join('west', { host: '127.0.0.1', port: 1 });
    const stranger = await issueCa('stranger', validity);
    const forged = await issue(stranger, { use: 'client', commonName: 'east', groups: [] }, validity);
    const socket = connectTls({
      host: '127.0.0.1',
      port: hubPort,
      ...forged,
      rejectUnauthorized: false,
      ALPNProtocols: ['h2'],
    });
    await new Promise((resolve) => socket.once('error', resolve).once('close', resolve));
    const bare = connectTls({ host: '127.0.0.1', port: hubPort, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
    await new Promise((resolve) => bare.once('error', resolve).once('close', resolve));
    await until(() => hub.clusters.length > 0);
    assert.deepEqual(hub.clusters, ['east']);
  });

  test('is used again after the cluster was away, and a second replica takes over at once', async () => {
    await using stack = new AsyncDisposableStack();
    const { hub, proxy, join } = await setup(stack);
    const server = await echo(stack, 'east');
    const place = { host: '127.0.0.1', port: portOf(server) };
    const first = await join('east', place);
    await until(() => hub.clusters.length === 1);
    const second = await join('east', place);
    const kept = await open(proxy, 'east');
    assert.equal(await firstLine(kept), 'east');
    first.abort();
    const socket = await open(proxy, 'east').catch(() => open(proxy, 'east'));
    assert.equal(await firstLine(socket), 'east');
    second.abort();
    kept.destroy();
    socket.destroy();
    await until(() => hub.clusters.length === 0);
    await join('east', place);
    await until(() => hub.clusters.length === 1);
    const again = await open(proxy, 'east');
    assert.equal(await firstLine(again), 'east');
    again.destroy();
  });
});
