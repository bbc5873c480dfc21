// Services with ten endpoints each and without traffic, and one that routes to this process.
import type { Server } from 'node:net';
import { connect, createServer } from 'node:net';

import type { Target } from '../client.ts';
import { send } from '../send.ts';
import { nodeName } from './programs.ts';

/** Endpoints per Service. */
export const endpointsPerService = 10;
/** The range of virtual addresses, that of `startFairlead`. */
export const serviceRange = '10.0.0.0/16';
/** Addresses that this machine must have, for a Node and two endpoints. */
export const ownAddresses = ['192.0.2.1', '192.0.2.11', '192.0.2.12'] as const;
const [nodeAddress, ...probed] = ownAddresses;
const probeAddress = '10.0.255.1';
const namespace = '/namespaces/default';
const slices = `/apis/discovery.k8s.io/v1${namespace}/endpointslices`;

/** Creates the Node and the Service that is measured. */
export async function begin(target: Target): Promise<void> {
  await send(target, 1, () => ['POST', '/api/v1/nodes', { metadata: { name: nodeName } }]);
  const addresses = [{ type: 'InternalIP', address: nodeAddress }];
  await send(target, 1, () => [
    'PATCH',
    `/api/v1/nodes/${nodeName}/status`,
    { status: { addresses } },
    'application/merge-patch+json',
  ]);
  await send(target, 1, () => ['POST', `/api/v1${namespace}/services`, serviceOf('probe', probeAddress)]);
  await send(target, 1, () => ['POST', slices, sliceOf('probe', [probed[0]])]);
}

/** Creates Services of a range of numbers. */
export async function fill(target: Target, from: number, to: number): Promise<void> {
  await send(target, to - from, (index) => [
    'POST',
    `/api/v1${namespace}/services`,
    serviceOf(`service-${from + index}`),
  ]);
  await send(target, to - from, (index) => {
    const first = (from + index) * endpointsPerService;
    const addresses = Array.from({ length: endpointsPerService }, (_, each) => addressOf(first + each));
    return ['POST', slices, sliceOf(`service-${from + index}`, addresses)];
  });
}

const addressOf = (number: number): string => `10.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;

const serviceOf = (name: string, clusterIP?: string): object => ({
  metadata: { name },
  spec: { ...(clusterIP === undefined ? {} : { clusterIP }), ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
});

const sliceOf = (service: string, addresses: readonly string[]): object => ({
  metadata: { name: `${service}-1`, labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  endpoints: endpointsAt(addresses),
});

const endpointsAt = (addresses: readonly string[]): readonly object[] =>
  addresses.map((address) => ({ addresses: [address], conditions: { ready: true }, nodeName: 'elsewhere' }));

/** The measured Service: its endpoint is one of two addresses of this process. */
export class Probe implements Disposable {
  readonly #target: Target;
  readonly #server: Server;
  #now = 0;

  private constructor(target: Target, server: Server) {
    this.#target = target;
    this.#server = server;
  }

  static async open(target: Target): Promise<Probe> {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.end(socket.localAddress ?? '');
    });
    await new Promise<void>((resolve) => server.listen({ port: 8080, host: '0.0.0.0', backlog: 1024 }, resolve));
    return new Probe(target, server);
  }

  /** Moves the endpoint to the other address; resolves with the time at which the server had committed it. */
  async move(): Promise<number> {
    this.#now = 1 - this.#now;
    const body = { endpoints: endpointsAt([probed[this.#now] ?? '']) };
    await send(this.#target, 1, () => ['PATCH', `${slices}/probe-1`, body, 'application/merge-patch+json']);
    return performance.now();
  }

  /** Resolves when connections to the Service reach the right address. */
  async arrives(deadlineMs: number): Promise<void> {
    const end = performance.now() + deadlineMs;
    while (performance.now() < end) {
      if ((await answerOf(probeAddress, 80)) === probed[this.#now]) return;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    throw new Error(`connections to ${probeAddress} did not arrive within ${deadlineMs / 1000} s`);
  }

  [Symbol.dispose](): void {
    this.#server.close();
  }
}

function answerOf(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host, port });
    socket.setTimeout(500, () => socket.destroy());
    socket.on('data', (data: Buffer) => (text += data.toString()));
    socket.on('error', () => {}).on('close', () => resolve(text));
  });
}
