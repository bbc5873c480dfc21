// Clusters in this process and a controller that joins them, for tests: no ports, and faults on demand.

import { pino } from 'pino';
import { Registry } from 'prom-client';

import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import type { ServiceSpec } from '../../src/api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { managedByLabel, serviceNameLabel } from '../../src/api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../src/api/kinds/discovery/endpointslice/schema.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { serviceImportKind } from '../../src/api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../src/api/kinds/multicluster/serviceimport/schema.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import type { ImportedService } from '../../src/api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../../src/api/kinds/multicluster/supercluster/import.ts';
import { Client } from '../../src/client/client.ts';
import { inProcess } from '../../src/client/in-process.ts';
import type { RunningPart } from '../../src/client/part.ts';
import type { ApiRequest, Transport } from '../../src/client/transport.ts';
import { Vips } from '../../src/multicluster/member/vips.ts';
import type { MemberEntry } from '../../src/multicluster/member/entry.ts';
import type { MulticlusterOptions } from '../../src/multicluster/multicluster.ts';
import { startMulticluster } from '../../src/multicluster/multicluster.ts';
import type { ReaperOptions } from '../../src/multicluster/reaper/reaper.ts';
import { startReaper } from '../../src/multicluster/reaper/reaper.ts';
import { partUser } from '../../src/server/access/identity/users.ts';
import type { TestServer } from '../../src/server/testing/server.ts';
import { testServer } from '../../src/server/testing/server.ts';

/** Decides about a fault of a call: an error thrown before or after the call, or undefined for none. */
export type Fault = (call: ApiRequest) => Promise<void> | void;

/** One cluster: its server, and clients of it. */
export class Cluster implements AsyncDisposable {
  readonly id: string;
  readonly client: Client;
  readonly #server: TestServer;
  /** Runs before every call of a component. */
  fault: Fault = () => undefined;
  /** Runs after every call of a component, whose response is then lost. */
  faultAfter: Fault = () => undefined;
  /** Runs before every line of a stream to a component, which is delivered when it resolves. */
  faultLine: Fault = () => undefined;
  /** Every write of a component. */
  readonly writes: ApiRequest[] = [];
  #cut = new AbortController();

  constructor(id: string, server: TestServer) {
    this.id = id;
    this.#server = server;
    this.client = this.as('kubernetes-admin', ['system:masters']);
  }

  /** A client of a user, without faults. */
  as(name: string, groups: readonly string[] = []): Client {
    const user = { name, uid: '', groups: [...groups, 'system:authenticated'] };
    return new Client(inProcess((request) => this.#server.handle({ ...request, user })));
  }

  /** A client of a component, with the faults of the cluster and those of its own connection. */
  connect(part = 'multicluster', line: Fault = () => undefined): Client {
    const user = { name: partUser(part), uid: '', groups: ['system:authenticated'] };
    return new Client(
      this.#faulty(
        inProcess((request) => this.#server.handle({ ...request, user })),
        line,
      ),
    );
  }

  /** Blocks all new calls and interrupts those in progress. */
  disconnect(): void {
    this.fault = () => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    };
    this.breakConnections();
  }

  /** Interrupts calls in progress; new ones succeed. */
  breakConnections(): void {
    this.#cut.abort(Object.assign(new Error('the connection broke'), { code: 'ECONNRESET' }));
    this.#cut = new AbortController();
  }

  reconnect(): void {
    this.fault = () => undefined;
  }

  #faulty(inner: Transport, line: Fault): Transport {
    const before = async (call: ApiRequest): Promise<void> => {
      await line(call);
      await this.fault(call);
    };
    const withCut = (call: ApiRequest): ApiRequest => ({
      ...call,
      signal: call.signal === undefined ? this.#cut.signal : AbortSignal.any([call.signal, this.#cut.signal]),
    });
    const lines = (call: ApiRequest): AsyncGenerator<string> => this.#stream(inner.stream(withCut(call)), call);
    return {
      request: async (call) => {
        await before(call);
        const answer = await inner.request(withCut(call));
        if (call.method !== 'GET') this.writes.push(call);
        await this.faultAfter(call);
        return answer;
      },
      async *stream(call) {
        await before(call);
        yield* lines(call);
      },
      [Symbol.dispose]: () => inner[Symbol.dispose](),
    };
  }

  async *#stream(lines: AsyncIterable<string>, call: ApiRequest): AsyncGenerator<string> {
    for await (const line of lines) {
      await this.faultLine(call);
      yield line;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  async namespace(name: string): Promise<void> {
    await this.client.create(namespaceKind, { metadata: { name }, spec: {}, status: {} });
  }

  /** A Service without a selector and one slice of it. */
  async service(name: string, addresses: readonly string[], spec: Partial<ServiceSpec> = {}): Promise<void> {
    const metadata = { namespace: 'shop', name };
    const ports = [{ name: 'http', port: 80, protocol: 'TCP' as const }];
    await this.client.create(serviceKind, { metadata, spec: { ports, ...spec }, status: { loadBalancer: {} } });
    await this.slice(name, addresses);
  }

  /** Creates or replaces the slice of a Service. */
  async slice(service: string, addresses: readonly string[], name = `${service}-abc`): Promise<void> {
    const slice: EndpointSlice = {
      metadata: { namespace: 'shop', name, labels: { [serviceNameLabel]: service, [managedByLabel]: 'test' } },
      addressType: 'IPv4',
      endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
      ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    };
    await this.client.apply(endpointSliceKind, slice);
  }

  /** Exports a Service in both APIs, or one. */
  async export(
    name: string,
    apis: readonly ('supercluster' | 'clusterset')[] = ['supercluster', 'clusterset'],
  ): Promise<void> {
    const metadata = { namespace: 'shop', name };
    if (apis.includes('supercluster')) await this.client.create(superclusterExportKind, { metadata });
    if (apis.includes('clusterset')) await this.client.create(serviceExportKind, { metadata, spec: {} });
  }

  async unexport(name: string): Promise<void> {
    await this.client.delete(superclusterExportKind, { namespace: 'shop', name });
    await this.client.delete(serviceExportKind, { namespace: 'shop', name });
  }

  importedService(name: string): Promise<ImportedService | undefined> {
    return this.client.find(importedServiceKind, { namespace: 'shop', name });
  }

  serviceImport(name: string): Promise<ServiceImport | undefined> {
    return this.client.find(serviceImportKind, { namespace: 'shop', name });
  }

  /** The slices of an import. */
  async imported(name: string): Promise<readonly EndpointSlice[]> {
    const labelSelector = `multicluster.kubernetes.io/service-name=${name}`;
    return (await this.client.list(endpointSliceKind, { namespace: 'shop', labelSelector })).items;
  }

  /** Source cluster → addresses, of an import. */
  async addresses(name: string): Promise<Record<string, readonly string[]>> {
    const found: Record<string, string[]> = {};
    for (const { metadata, endpoints } of await this.imported(name)) {
      const source = metadata.labels?.['multicluster.kubernetes.io/source-cluster'] ?? '';
      found[source] = [
        ...(found[source] ?? []),
        ...(endpoints ?? []).flatMap((each) => each.addresses ?? []),
      ].toSorted();
    }
    return found;
  }

  /** Condition → status, of an export in either API. */
  async conditions(name: string, api: 'supercluster' | 'clusterset'): Promise<Record<string, string>> {
    const key = { namespace: 'shop', name };
    const object =
      api === 'supercluster'
        ? await this.client.find(superclusterExportKind, key)
        : await this.client.find(serviceExportKind, key);
    return Object.fromEntries((object?.status?.conditions ?? []).map(({ type, status }) => [type, status]));
  }
}

/** Starts clusters that each have the namespace `shop`. */
export async function startClusters(ids: readonly string[], stack: AsyncDisposableStack): Promise<readonly Cluster[]> {
  return Promise.all(
    ids.map(async (id, index) => {
      const cluster = stack.use(new Cluster(id, await testServer({ serviceCidrs: [`10.${200 + index}.0.0/16`] })));
      await cluster.namespace('shop');
      return cluster;
    }),
  );
}

/** Short intervals for fast tests. */
export const quickProbes = { renewMs: 200, durationMs: 1000 };

/** The entry of a member with its own pool of addresses. */
export const entryOf = (cluster: Cluster, index: number): MemberEntry => ({
  id: cluster.id,
  connect: () => cluster.connect(),
  vips: new Vips([`241.${index}.0.0/16`]),
});

/** Starts the reaper of a cluster and returns its metrics. */
export function reap(cluster: Cluster, stack: AsyncDisposableStack, options: ReaperOptions = {}): Registry {
  const metrics = new Registry();
  const context = { client: cluster.connect('reaper'), log: pino({ level: 'silent' }), metrics };
  stack.use(startReaper(context, { probeTimes: quickProbes, resolutionMs: 50, ...options }));
  return metrics;
}

export interface Joined {
  readonly part: RunningPart;
  readonly metrics: Registry;
  /** The messages of warnings and errors. */
  readonly logged: string[];
}

/** Starts a controller for the clusters. */
export function join(
  clusters: readonly Cluster[],
  stack: AsyncDisposableStack,
  options: Partial<MulticlusterOptions> = {},
): Joined {
  const [home] = clusters;
  if (home === undefined) throw new Error('no cluster to join');
  const metrics = new Registry();
  const logged: string[] = [];
  const log = pino(
    { level: 'warn' },
    { write: (line) => logged.push((JSON.parse(line) as { readonly msg: string }).msg) },
  );
  const part = startMulticluster(
    { client: home.connect(), log, metrics },
    { members: (change) => change(clusters.map(entryOf)), probeTimes: quickProbes, windowMs: 20, ...options },
  );
  stack.use(part);
  return { part, metrics, logged };
}

/** Starts a controller for clusters that share one pool of addresses. */
export const joinSharing = (clusters: readonly Cluster[], vips: Vips, stack: AsyncDisposableStack): Joined =>
  join(clusters, stack, {
    members: (change) => change(clusters.map((each, index) => ({ ...entryOf(each, index), vips }))),
  });
