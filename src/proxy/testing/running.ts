// A proxy with its own API server and a backend that records calls.
import assert from 'node:assert/strict';

import { pino } from 'pino';
import { Registry } from 'prom-client';

import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import type { RunningPart } from '../../client/part.ts';
import type { TestServer } from '../../server/testing/server.ts';
import { testServer } from '../../server/testing/server.ts';
import type { Backend, RouteChange, RouteProblem, RoutingState } from '../backend.ts';
import type { ProxyOptions } from '../options.ts';
import { startProxy } from '../proxy.ts';
import { actionText } from '../routes/testing/objects.ts';
import type { Route } from '../routes/route.ts';
import { routeKey } from '../routes/route.ts';

/** A backend that records calls, and fails on request. */
class Recorder implements Backend {
  readonly calls: string[] = [];
  readonly routes = new Map<string, Route>();
  failures = 0;
  state: RoutingState | undefined;

  async replace(state: RoutingState): Promise<void> {
    this.calls.push('replace');
    this.#failOrGoOn();
    this.routes.clear();
    for (const [key, route] of state.routes) this.routes.set(key, route);
    this.state = state;
  }

  async apply({ removed, added }: RouteChange): Promise<void> {
    this.calls.push(`apply -${removed.length} +${added.length}`);
    this.#failOrGoOn();
    for (const route of removed) assert.ok(this.routes.delete(routeKey(route)), 'what is removed was there');
    for (const route of added) this.routes.set(routeKey(route), route);
  }

  wrong: readonly RouteProblem[] = [];

  problems(): readonly RouteProblem[] {
    return this.wrong;
  }

  async cleanup(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.calls.push('disposed');
  }

  /** Every route in one line. */
  get lines(): readonly string[] {
    return Array.from(this.routes, ([key, { action }]) => `${key} → ${actionText(action)}`).sort();
  }

  #failOrGoOn(): void {
    if (this.failures === 0) return;
    this.failures--;
    throw new Error('the backend is not well');
  }
}

export const core = '/api/v1/namespaces/default';
export const discovery = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';

/** Creates an object. */
export async function post(server: TestServer, url: string, body: unknown): Promise<void> {
  const answer = await server.ask('POST', url, { body });
  assert.ok(answer.status < 300, answer.text);
}

export const service = (name: string, clusterIP: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { clusterIP, ports: [{ port: 80, targetPort: 8080 }], ...spec },
});

export const slice = (name: string, addresses: readonly string[], labels: object): object => ({
  metadata: { name, labels },
  addressType: 'IPv4',
  ports: [{ port: 8080, protocol: 'TCP', name: '' }],
  endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true }, nodeName: 'n1' })),
});

const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };

/** A client of an administrator. */
export const clientOf = (server: TestServer): Client =>
  new Client(inProcess((request) => server.handle({ ...request, user })));

/** A proxy and its API server. */
export interface Running extends AsyncDisposable {
  readonly server: TestServer;
  readonly backend: Recorder;
  readonly proxy: RunningPart;
  readonly metrics: Registry;
}

/** Starts a proxy; `prepare` creates objects before. */
export async function startAll(
  options: Partial<ProxyOptions> = {},
  prepare?: (server: TestServer) => Promise<void>,
): Promise<Running> {
  const server = await testServer();
  await prepare?.(server);
  const backend = new Recorder();
  const metrics = new Registry();
  const proxy = startProxy(
    { client: clientOf(server), log: pino({ level: 'silent' }), metrics },
    { nodeName: 'n1', mode: 'nftables', minSyncPeriodMs: 1, healthCheckHost: '127.0.0.1', ...options },
    { addresses: () => ['192.0.2.1', '127.0.0.1'], openBackend: async () => backend },
  );
  return {
    server,
    backend,
    proxy,
    metrics,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The label of slices of `web`. */
export const web = { 'kubernetes.io/service-name': 'web' };
