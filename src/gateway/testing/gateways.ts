// Clusters in this process with gateways on loopback addresses, and the slices that the multi-cluster controller would write.

import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';

import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { Place } from '../../api/kinds/multicluster/gateway.ts';
import {
  gatewayService,
  importersAnnotation,
  printPlace,
  remoteGatewaysAnnotation,
} from '../../api/kinds/multicluster/gateway.ts';
import { importNameLabel, sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import type { RunningPart } from '../../client/part.ts';
import type { KeyPair } from '../../server/pki/issue.ts';
import { issue, issueCa } from '../../server/pki/issue.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import type { GatewayOptions } from '../gateway.ts';
import { startGateway } from '../gateway.ts';
import type { GatewayTls } from '../identity.ts';

export const validity = { now: new Date(), days: 1 };
const admin = { name: 'kubernetes-admin', uid: '', groups: ['system:masters', 'system:authenticated'] };

let nextAddress = process.pid % 250;

/** A loopback address that no other gateway of this process has. */
const loopbackAddress = (): string => `127.77.${process.pid % 250}.${(nextAddress++ % 250) + 1}`;

export interface TestGateway {
  readonly part: RunningPart;
  /** Where other gateways connect. */
  readonly peers: Place;
  /** Where clients of its own cluster connect. */
  readonly address: string;
  readonly metrics: Registry;
  readonly logged: readonly string[];
  stop(): Promise<void>;
}

/** A cluster with its API server, and gateways. */
class GatewayCluster {
  readonly id: string;
  readonly client: Client;
  tls: GatewayTls;

  constructor(id: string, client: Client, tls: GatewayTls) {
    this.id = id;
    this.client = client;
    this.tls = tls;
  }

  async gateway(stack: AsyncDisposableStack, options: Partial<GatewayOptions> = {}): Promise<TestGateway> {
    const address = options.address ?? loopbackAddress();
    const metrics = new Registry();
    const logged: string[] = [];
    const log = pino({ level: 'debug' }, { write: (line) => void logged.push(line) });
    const part = startGateway(
      { client: this.client, log, metrics },
      {
        address,
        listen: { host: address, port: 0 },
        relays: [],
        tls: async () => this.tls,
        renewMs: 50,
        probeTimes: { everyMs: 200, timeoutMs: 2000 },
        registrarTimes: { probeMs: 50, deadMs: 300, deleteMs: 60_000 },
        ...options,
      },
    );
    let hasStopped = false;
    const stop = async (): Promise<void> => {
      if (hasStopped) return;
      hasStopped = true;
      await part[Symbol.asyncDispose]();
    };
    stack.defer(stop);
    await part.ready;
    return { part, peers: { host: address, port: part.listens?.[0]?.port ?? 0 }, address, metrics, logged, stop };
  }

  /** Exports a service with endpoints, as the controller records it in the slices of the own export. */
  exports(
    name: string,
    endpoints: readonly Place[],
    { importers, ...options }: SliceOptions & { readonly importers: readonly string[] },
  ): Promise<void> {
    const annotations = { [importersAnnotation]: importers.join(), ...options.annotations };
    return this.#slice(name, this.id, endpoints, { ...options, annotations });
  }

  /** Imports a service by a port of this cluster's gateways, as the controller does. */
  imports(
    name: string,
    from: string,
    ports: { readonly port: number; readonly gateways: readonly Place[] } & SliceOptions,
  ): Promise<void> {
    const { port, gateways, ...options } = ports;
    return this.#slice(name, from, [{ host: '192.0.2.1', port }], {
      ...options,
      annotations: { [remoteGatewaysAnnotation]: gateways.map(printPlace).join() },
    });
  }

  async #slice(
    name: string,
    source: string,
    endpoints: readonly Place[],
    { protocol = 'TCP', annotations = {} }: SliceOptions,
  ): Promise<void> {
    await this.client.apply(endpointSliceKind, {
      metadata: {
        namespace: 'shop',
        name: `imported-${name}-${source}`,
        labels: { [sourceClusterLabel]: source, [importNameLabel]: name },
        annotations,
      },
      addressType: 'IPv4',
      endpoints: endpoints.map(({ host }) => ({ addresses: [host], conditions: { ready: true } })),
      ports: [{ name: 'main', protocol, port: endpoints[0]?.port ?? 1 }],
    });
  }

  async unexport(name: string): Promise<void> {
    await this.client.delete(endpointSliceKind, { namespace: 'shop', name: `imported-${name}-${this.id}` });
  }
}

interface SliceOptions {
  readonly protocol?: 'TCP' | 'UDP';
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface GatewaySet {
  readonly ca: KeyPair;
  readonly clusters: readonly GatewayCluster[];
}

/** The certificate of a cluster's gateway. */
export async function gatewayTls(ca: KeyPair, cluster: string): Promise<GatewayTls> {
  return { ...(await issue(ca, { use: 'peer', commonName: cluster }, validity)), ca: ca.cert };
}

/** Starts clusters whose gateways have certificates of one authority. */
export async function startSet(ids: readonly string[], stack: AsyncDisposableStack): Promise<GatewaySet> {
  const ca = await issueCa('set', validity);
  const clusters = await Promise.all(
    ids.map(async (id) => {
      const server = stack.use(await testServer({ loopbackEndpoints: ['127.0.0.0/8'] }));
      const client = new Client(inProcess((request) => server.handle({ ...request, user: admin })));
      for (const name of ['shop', gatewayService.namespace])
        await client.create(namespaceKind, { metadata: { name }, spec: {}, status: {} });
      return new GatewayCluster(id, client, await gatewayTls(ca, id));
    }),
  );
  return { ca, clusters };
}

/** An endpoint: it answers each connection with its name, and then echoes. */
export async function echoServer(stack: AsyncDisposableStack, name: string): Promise<Place> {
  const sockets = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.write(`${name}\n`);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return { host: '127.0.0.1', port: typeof address === 'object' && address !== null ? address.port : 0 };
}

/** What a client receives until the server ends or resets the connection, or until it has a line. */
export async function firstLine({ host, port }: Place): Promise<string> {
  const socket = connect({ host, port });
  try {
    return await new Promise((resolve) => {
      let text = '';
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString();
        if (text.includes('\n')) resolve(text.trim());
      });
      socket.on('error', (error) => resolve(`error: ${error.message}`));
      socket.once('close', () => resolve(`closed: ${text}`));
    });
  } finally {
    socket.destroy();
  }
}

/** Waits until a port leads to the endpoint with this name. */
export const reaches = (place: Place, name: string): Promise<unknown> =>
  until(`${printPlace(place)} leads to ${name}`, async () => (await firstLine(place)) === name);
