import { isDeepStrictEqual } from 'node:util';
import { compareText } from '../../api/order.ts';
import { loadBalancerExposure } from '../../api/kinds/core/service/exposure.ts';
import type { GatewayReplica, Place } from '../../api/kinds/multicluster/gateway.ts';
import { gatewayProblemsIn, gatewayReplicas, gatewayService, peerPort } from '../../api/kinds/multicluster/gateway.ts';
import { importKeysOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Kind } from '../../api/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import type { ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import { serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { SuperclusterExport } from '../../api/kinds/multicluster/supercluster/export.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import { EventRecorder } from '../../client/events.ts';
import type { InformersOptions } from '../../client/informers.ts';
import { withoutManagedFields } from '../../client/informers.ts';
import type { Key } from '../../client/key.ts';
import { keyFor, nameFor } from '../../client/key.ts';
import { Semaphore } from '../../machine/semaphore.ts';
import { AcceptedSlices } from '../guard/addresses.ts';
import { addressesOfNode, advertisedOf } from '../guard/advertise.ts';
import type { MemberRanges } from '../guard/reserved-ranges.ts';
import { MirrorCache } from '../project/mirror.ts';
import { derivedName } from '../project/labels.ts';
import type { Actual, Write } from '../project/desired.ts';
import type { ClusterExport, MemberFacts } from '../record.ts';
import { lossPolicyOf } from '../record.ts';
import type { LocalGateway } from '../vip/gateway-ports.ts';
import { GatewayPorts } from '../vip/gateway-ports.ts';
import { gatewayPortsIn, MemberCaches, servedAs } from './caches.ts';
import { withDeadline } from './deadline.ts';
import { subscribeTo } from './events.ts';
import type { MemberListener, MutationCaches } from './events.ts';
import { ExportEventRecorder } from './export-events.ts';
import type { LiveOptions, MemberOptions, ProbeTimes } from './options.ts';
import { defaultMemberLimit, defaultSourceLeaseMs, liveIn, probeTimesOf } from './options.ts';
import { HealthProbe } from './health-probe.ts';
import { SharedEndpoints } from './shared-endpoints.ts';
import { MutationCache } from './mutation-cache.ts';

export interface MemberSetup extends MemberOptions {
  /** The connection that is this member's identity; closed with it. */
  readonly client: Client;
  readonly listener: MemberListener;
  /** Shared by the members of a set. */
  readonly endpoints?: SharedEndpoints | undefined;
  /** Limits how many members are read at once; see `readPermits`. */
  readonly permits?: Semaphore | undefined;
  readonly log: InformersOptions['log'];
  readonly probeTimes?: ProbeTimes | undefined;
  readonly clock?: Clock | undefined;
}

const component = 'fairlead-multicluster';

/** Members read at once: a hundred would keep the process so busy that it renews no lease and handles no probe meanwhile. */
export const readPermits = 24;

/** A member that is slow to read releases its permit after this. */
const longestPermitMs = 5000;

/** Timeout of requests. */
const requestTimeoutMs = 15_000;

/** One cluster of the set, over its own connection: its exports, its imports, and whether it answers. */
export class Member implements AsyncDisposable {
  #options: MemberOptions;
  readonly client: Client;
  readonly caches: MemberCaches;
  readonly probe: HealthProbe;
  /** Caches the address checks of its slices. */
  readonly accepted = new AcceptedSlices();
  /** Caches the slices that are mirrored into it. */
  readonly mirrors = new MirrorCache();
  /** The ports of its gateways. */
  readonly ports: GatewayPorts;
  readonly exportEvents: ExportEventRecorder;
  readonly #clock: Clock;
  readonly #mutations: MutationCaches;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  constructor({
    client,
    listener,
    endpoints = new SharedEndpoints(),
    permits = new Semaphore(readPermits),
    log,
    probeTimes = probeTimesOf(defaultSourceLeaseMs),
    clock = systemClock,
    ...options
  }: MemberSetup) {
    this.#options = options;
    this.client = client;
    this.#clock = clock;
    const firstAnswer = Promise.withResolvers<void>();
    this.probe = new HealthProbe({
      ...probeTimes,
      client,
      clock,
      onChange: (isBack) => {
        if (isBack) this.caches.reopen();
        firstAnswer.resolve();
        listener.state();
      },
    });
    this.caches = new MemberCaches({
      client,
      clock,
      endpoints,
      limit: options.limit ?? defaultMemberLimit,
      readsNodes: options.addressMode === 'nodeport' && options.addresses === undefined,
      log,
      onChange: () => listener.state(),
    });
    this.ports = new GatewayPorts(() => gatewayPortsIn(this.caches.slices.list()));
    const events = new EventRecorder({
      client,
      clock,
      component,
      log,
    });
    this.exportEvents = new ExportEventRecorder(
      (kind, ...rest) => events.record(servedAs(kind, this.caches.clustersetKinds), ...rest),
      clock,
    );
    this.#mutations = {
      superclusterExports: new MutationCache<SuperclusterExport>(clock),
      serviceExports: new MutationCache<ServiceExport>(clock),
      importedServices: new MutationCache<ImportedService>(clock),
      serviceImports: new MutationCache<ServiceImport>(clock),
      services: new MutationCache<Service>(clock),
      slices: new MutationCache<EndpointSlice>(clock, (slice) => importKeysOf(slice)[0] ?? ''),
    };
    subscribeTo(this.caches, this.#mutations, listener, (key) => this.isExported(key));
    const { signal } = this.#stop;
    this.#running = Promise.all([this.probe.run(signal), this.#read(firstAnswer.promise, permits)]);
    signal.addEventListener('abort', () => firstAnswer.resolve(), { once: true });
  }

  /** Fills the caches after the first answer to a probe. A member that is slow to read does not keep its permit for long. */
  async #read(firstAnswer: Promise<void>, permits: Semaphore): Promise<void> {
    const { signal } = this.#stop;
    await firstAnswer;
    if (signal.aborted) return;
    try {
      await permits.acquire((cancel) => signal.addEventListener('abort', () => cancel(signal.reason), { once: true }));
    } catch {
      return; // stopped while it waited
    }
    const running = this.caches.run(signal);
    const isRead = this.caches.read(signal).catch(() => undefined);
    await Promise.race([isRead, sleep(this.#clock, longestPermitMs, signal)]);
    permits.release();
    await running;
  }

  get id(): string {
    return this.options.id;
  }

  /** It answers and its caches have synced, so that it can be written to. */
  get isReady(): boolean {
    return this.probe.state === 'alive' && this.caches.isSynced;
  }

  /** It is ready, or it does not answer. */
  get isSettled(): boolean {
    return this.isReady || this.probe.state === 'silent' || this.probe.state === 'lost';
  }

  get options(): MemberOptions {
    return this.#options;
  }

  /** Changes options that need no new connection. Returns whether any did. */
  reconfigure(live: LiveOptions): boolean {
    const next = { ...this.#options, ...live };
    if (isDeepStrictEqual(liveIn(next), liveIn(this.#options))) return false;
    this.#options = next;
    return true;
  }

  facts(): MemberFacts {
    const { caches, options, probe } = this;
    return {
      id: options.id,
      labels: options.labels,
      uid: probe.uid,
      isSynced: caches.isSynced,
      isConnected: probe.state === 'alive',
      // A cluster that leaves should hold nothing in any namespace.
      namespaces: { has: (name) => options.isLeaving !== true && this.hasNamespace(name) },
      serves: { supercluster: caches.serves('supercluster'), clusterset: caches.serves('clusterset') },
      mcsVersion: caches.clustersetKinds.version,
      importFields: caches.importFields,
      hasStockProxy: options.vips === undefined,
      acceptsRelaxedNames: options.acceptsRelaxedNames ?? true,
      keepsSrvNames: options.keepsSrvNames ?? false,
    };
  }

  /** Whether objects can be created in a namespace. */
  hasNamespace(name: string): boolean {
    const namespace = this.caches.namespaces.get(name);
    return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
  }

  /** Whether the cluster has the namespace of a service, so that it can hold something of it (MCS-109), or was not read yet. */
  concerns(key: Key): boolean {
    return !this.caches.isSynced || this.caches.namespaces.get(nameFor(key).namespace ?? '') !== undefined;
  }

  /** Its address ranges, as far as they are known. */
  get addressRanges(): MemberRanges {
    const { id, policy, vips } = this.options;
    return {
      id,
      endpointRanges: policy?.endpointRanges,
      serviceRanges: this.caches.serviceCidrs.list().flatMap(({ spec }) => spec.cidrs ?? []),
      importRanges: vips?.cidrs ?? [],
    };
  }

  /** Whether it exports a service in either API. */
  isExported(key: Key): boolean {
    return this.caches.superclusterExports.get(key) !== undefined || this.caches.serviceExports.get(key) !== undefined;
  }

  /** The namespaces with exports. */
  get exportedNamespaces(): ReadonlySet<string> {
    const exports = [...this.caches.superclusterExports.list(), ...this.caches.serviceExports.list()];
    return new Set(exports.map(({ metadata }) => metadata.namespace ?? ''));
  }

  /** What this cluster exports of a service; undefined: nothing. */
  record(key: Key): ClusterExport | undefined {
    const { caches } = this;
    const superclusterExport = one(this.#mutations.superclusterExports, key, caches.superclusterExports.get(key));
    const serviceExport = one(this.#mutations.serviceExports, key, caches.serviceExports.get(key));
    if (superclusterExport === undefined && serviceExport === undefined) return undefined;
    const { namespace = '', name } = nameFor(key);
    const slices = caches.slices.by('service', key);
    const service = caches.services.get(key);
    return this.withAddresses({
      cluster: this.id,
      namespace,
      name,
      superclusterExport,
      serviceExport,
      service,
      slices,
      region: this.options.region,
      onLoss: lossPolicyOf(
        [superclusterExport, serviceExport].filter((each) => each !== undefined),
        this.options.onLoss,
      ),
    });
  }

  /** An export with the addresses by which other clusters reach it. */
  withAddresses(record: ClusterExport): ClusterExport {
    const { addressMode: mode = 'pods', addresses } = this.options;
    if (mode === 'pods') return record;
    const nodes = this.caches.nodes.list().map(addressesOfNode);
    return {
      ...record,
      advertised: advertisedOf(record, { mode, addresses, nodes, gateways: this.#gatewayPlaces(addresses) }),
    };
  }

  /** The gateway by which it reaches clusters in address mode gateway; undefined: it has none. */
  get gateway(): LocalGateway | undefined {
    const replicas = this.#gatewayReplicas;
    return replicas.length === 0 ? undefined : { replicas, portOf: (remote) => this.ports.portOf(remote) };
  }

  get #gatewayReplicas(): readonly GatewayReplica[] {
    const slices = this.caches.slices.by('service', keyFor(gatewayService));
    return gatewayReplicas(slices).toSorted((left, right) => compareText(left.place.host, right.place.host));
  }

  /** Where gateways of other clusters connect: given addresses, those of the load balancer of its gateway, or those of the replicas. */
  #gatewayPlaces(addresses: readonly string[] | undefined): readonly Place[] {
    const service = this.caches.services.get(keyFor(gatewayService));
    const replicas = this.#gatewayReplicas.map(({ place }) => place);
    const port =
      service?.spec.ports?.find(({ name }) => name === peerPort.name)?.port ?? replicas[0]?.port ?? peerPort.number;
    const exposed = addresses ?? (service === undefined ? [] : loadBalancerExposure(service).addresses);
    return exposed.length > 0 ? exposed.map((host) => ({ host, port })) : replicas;
  }

  /** Cluster → why gateways of this one cannot use those of the other. */
  get gatewayProblems(): ReadonlyMap<string, string> {
    const slices = this.caches.slices.by('service', keyFor(gatewayService));
    return new Map(slices.flatMap((slice) => [...gatewayProblemsIn(slice)]));
  }

  /** What this cluster holds of a service, own writes included. */
  actual(key: Key): Actual {
    const { caches } = this;
    const { namespace = '', name } = nameFor(key);
    const derivedKey = keyFor({ namespace, name: derivedName({ namespace, name }) });
    return {
      importedService: one(this.#mutations.importedServices, key, caches.importedServices.get(key)),
      serviceImport: one(this.#mutations.serviceImports, key, caches.serviceImports.get(key)),
      derivedService: one(this.#mutations.services, derivedKey, caches.services.get(derivedKey)),
      slices: this.#mutations.slices.merged(key, caches.slices.by('import', key)),
    };
  }

  /** A slice by name, for slices whose labels were edited. */
  slice(namespace: string, name: string): EndpointSlice | undefined {
    return this.caches.slices.get(keyFor({ namespace, name }));
  }

  /** Writes one object, which `record` and `actual` include at once. Rejects when the server does. */
  async apply(write: Write, signal: AbortSignal): Promise<void> {
    if (this.options.isReadOnly === true) throw new Error(`bug: cluster ${this.id} is read-only`);
    await this.withTimeout(signal, (deadline) => this.#apply(write, { signal: deadline }));
  }

  /** Runs requests with a timeout. */
  withTimeout<T>(signal: AbortSignal, work: (deadline: AbortSignal) => Promise<T>): Promise<T> {
    return withDeadline({ signal, ms: requestTimeoutMs, clock: this.#clock }, work);
  }

  async #apply(write: Write, options: { readonly signal: AbortSignal }): Promise<void> {
    const { object, verb } = write;
    const kind = servedAs(write.kind, this.caches.clustersetKinds);
    await this.#mutationsOf(write.kind).write(object, async () => {
      if (verb !== 'delete') return withoutManagedFields(await this.client[verb](kind, object, options));
      const { namespace, name = '' } = object.metadata;
      await this.client.delete(kind, { namespace, name }, { ...options, preconditions: write.preconditions });
      return undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.exportEvents[Symbol.dispose]();
    await this.#running;
    this.client[Symbol.dispose]();
  }

  #mutationsOf(kind: Kind): { write(object: ApiObject, make: () => Promise<ApiObject | undefined>): Promise<void> } {
    switch (kind) {
      case superclusterExportKind:
        return this.#mutations.superclusterExports;
      case serviceExportKind:
        return this.#mutations.serviceExports;
      case importedServiceKind:
        return this.#mutations.importedServices;
      case serviceImportKind:
        return this.#mutations.serviceImports;
      case serviceKind:
        return this.#mutations.services;
      case endpointSliceKind:
        return this.#mutations.slices;
      default:
        throw new Error(`bug: a ${kind.kind} is not written to members`);
    }
  }
}

const one = <T extends ApiObject>(mutations: MutationCache<T>, key: Key, cached: T | undefined): T | undefined =>
  mutations.merged(key, cached === undefined ? [] : [cached])[0];
