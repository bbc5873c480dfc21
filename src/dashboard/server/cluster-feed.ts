// The objects of one cluster, kept up to date, and the rows made of them.
import type { Logger } from 'pino';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { importKeysOf, indexByService, serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { eventsEventKind } from '../../api/kinds/events/event/kind.ts';
import type { EventsEvent } from '../../api/kinds/events/event/schema.ts';
import { serviceExportAlphaKind, serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { serviceCidrKind } from '../../api/kinds/networking/servicecidr/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { connectionReason } from '../../client/connection-error.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import { onKeyChange } from '../../client/handlers.ts';
import { Informers, withoutManagedFields } from '../../client/informers.ts';
import { keyOf } from '../../client/key.ts';
import type { ClusterRow, EventRow, ImportRow, ServiceRow } from '../view/rows.ts';
import { clusterId, importId, serviceId } from '../view/ids.ts';
import type { Resource, ReviewedKind, Rights } from './rights.ts';
import { eventReasons, importRow, serviceRow } from './service-row.ts';

/** A cluster that the dashboard shows. */
export interface ShownCluster {
  readonly name: string;
  /** URL of the API server, for people. */
  readonly server: string;
  /** A client with the rights of the dashboard. The caller disposes of it. */
  readonly client: Client;
}

export interface ClusterFeedOptions {
  readonly cluster: ShownCluster;
  readonly log: Pick<Logger, 'debug' | 'warn'>;
  readonly clock: Clock;
  /** Called with the id of each row that may have changed. */
  readonly changed: (id: string) => void;
  /** Called for each Event that is new since the start. */
  readonly happened: (event: EventRow) => void;
}

const coreEvents = { group: '', plural: 'events' } as const;
const probeMs = 5000;
const probeTimeoutMs = 4000;

/** Watches a cluster until it is disposed of. Reads nothing but the kinds below; Secrets are not among them. */
export class ClusterFeed implements AsyncDisposable {
  readonly cluster: ShownCluster;
  readonly #options: ClusterFeedOptions;
  readonly #informers: Informers;
  readonly #stop = new AbortController();
  readonly #probing: Promise<void>;
  #isSynced = false;
  #probe: { readonly version?: string; readonly answerMs?: number; readonly error?: string } = {};
  readonly #services;
  readonly #slices;
  readonly #superclusterExports;
  readonly #exports;
  readonly #imported;
  readonly #serviceImports;
  readonly #serviceCidrs;
  readonly #events;
  /** Resolves when everything was read once. */
  readonly synced: Promise<void>;

  constructor(options: ClusterFeedOptions) {
    const { cluster, changed, clock, log } = options;
    this.cluster = cluster;
    this.#options = options;
    const informers = new Informers({ client: cluster.client, log, clock });
    this.#informers = informers;
    this.#services = informers.of(serviceKind, { trim: trimService });
    this.#slices = informers.of(endpointSliceKind, {
      indexes: { service: indexByService, import: importKeysOf },
    });
    this.#superclusterExports = informers.optional([superclusterExportKind]);
    this.#exports = informers.optional([serviceExportKind, serviceExportAlphaKind]);
    this.#imported = informers.optional([importedServiceKind]);
    this.#serviceImports = informers.optional([serviceImportKind, serviceImportAlphaKind]);
    this.#serviceCidrs = informers.optional([serviceCidrKind]);
    this.#events = informers.optional([eventsEventKind], { indexes: { service: eventServices } });
    const { name } = cluster;
    const serviceChanged = (key: string): void => changed(serviceId(name, key));
    const importChanged = (key: string): void => changed(importId(name, key));
    this.#services.subscribe(onKeyChange(serviceChanged));
    for (const informer of [this.#superclusterExports, this.#exports]) informer.subscribe(onKeyChange(serviceChanged));
    for (const informer of [this.#imported, this.#serviceImports]) informer.subscribe(onKeyChange(importChanged));
    const sliceChanged = (slice: EndpointSlice): void => {
      const key = serviceKeyOf(slice);
      if (key !== undefined) serviceChanged(key);
      for (const each of importKeysOf(slice)) importChanged(each);
    };
    this.#slices.subscribe({
      added: sliceChanged,
      deleted: sliceChanged,
      updated(slice, old) {
        sliceChanged(old);
        sliceChanged(slice);
      },
    });
    const eventSeen = (event: EventsEvent): void => {
      if (eventReasons.includes(event.reason ?? '')) eventServices(event).forEach(serviceChanged);
      if (this.#isSynced) options.happened(eventRow(name, event));
    };
    this.#events.subscribe({ added: eventSeen, updated: eventSeen });
    informers.start();
    const { signal } = this.#stop;
    this.synced = informers.synced(signal).then(() => {
      this.#isSynced = true;
      changed(clusterId(name));
    });
    this.synced.catch(() => undefined); // stopped before; `isSynced` is false then
    this.#probing = this.#runProbe(signal);
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** The keys of all rows, as ids. */
  *ids(): Iterable<string> {
    const { name } = this.cluster;
    yield clusterId(name);
    for (const service of this.#services.list()) yield serviceId(name, keyOf(service));
    const imports = [...this.#imported.list(), ...this.#serviceImports.list()];
    for (const key of new Set(imports.map(keyOf))) yield importId(name, key);
  }

  /** Why requests to the cluster fail; undefined: it answers. */
  get lost(): string | undefined {
    return this.#probe.error;
  }

  clusterRow(): ClusterRow {
    const { name, server } = this.cluster;
    const { error, version, answerMs } = this.#probe;
    const unread = this.#isSynced ? this.#informers.failing() : this.#informers.unsynced();
    const isLost = error !== undefined;
    return {
      kind: 'cluster',
      id: clusterId(name),
      cluster: name,
      state: isLost ? 'lost' : this.#isSynced ? 'ok' : 'reading',
      server,
      ...(version === undefined ? {} : { version }),
      ...(answerMs === undefined ? {} : { answerMs }),
      findings: isLost
        ? [{ level: 'error', reason: 'ClusterLost', text: `requests to cluster ${name} fail: ${error}` }]
        : unread.map((text) => ({ level: 'warning', reason: 'NotRead', text })),
    };
  }

  /** The row of a Service as a viewer with these rights may see it; undefined: it is gone, or not visible. */
  serviceRow(key: string, rights: Rights): ServiceRow | undefined {
    const service = this.#services.get(key);
    if (service === undefined || !rights.services) return undefined;
    return serviceRow({
      cluster: this.cluster.name,
      service,
      slices: rights.endpointslices ? this.#slices.by('service', key) : undefined,
      exports: rights.serviceexports ? this.exportsOf(key) : undefined,
      warnings: rights.events ? this.eventsOf(key).filter(({ isWarning }) => isWarning) : undefined,
    });
  }

  importRow(key: string, rights: Rights): ImportRow | undefined {
    const imported = this.#imported.get(key);
    const serviceImport = this.#serviceImports.get(key);
    if ((imported === undefined && serviceImport === undefined) || !rights.serviceimports) return undefined;
    const slices = rights.endpointslices ? this.#slices.by('import', key) : undefined;
    return importRow({ cluster: this.cluster.name, key, imported, serviceImport, slices });
  }

  /** The kinds that rows show as a resource. */
  kindsOf(resource: Resource): readonly ReviewedKind[] {
    const served = (
      pairs: readonly (readonly [{ readonly isServed: boolean }, ReviewedKind])[],
    ): readonly ReviewedKind[] => pairs.flatMap(([informer, kind]) => (informer.isServed ? kind : []));
    switch (resource) {
      case 'services':
        return [serviceKind];
      case 'endpointslices':
        return [endpointSliceKind];
      case 'serviceexports':
        return served([
          [this.#exports, serviceExportKind],
          [this.#superclusterExports, superclusterExportKind],
        ]);
      case 'serviceimports':
        return served([
          [this.#serviceImports, serviceImportKind],
          [this.#imported, importedServiceKind],
        ]);
      case 'events':
        // kubectl reads the same Events from the core group, and roles such as `view` name them there.
        return [coreEvents];
    }
  }

  /** The Events of a Service, the oldest first. */
  eventsOf(key: string): readonly EventRow[] {
    return this.#events
      .by('service', key)
      .map((event) => eventRow(this.cluster.name, event))
      .toSorted((left, right) => (left.at < right.at ? -1 : 1));
  }

  service(key: string): Service | undefined {
    return this.#services.get(key);
  }

  /** The exports of a Service, of both API groups. */
  exportsOf(key: string) {
    return [this.#exports.get(key), this.#superclusterExports.get(key)].filter((each) => each !== undefined);
  }

  /** The imports of a name, of both API groups. */
  importsOf(key: string) {
    return [this.#serviceImports.get(key), this.#imported.get(key)].filter((each) => each !== undefined);
  }

  /** The namespaces that have a Service or an import. */
  namespaces(): ReadonlySet<string> {
    const all: readonly ApiObject[] = [
      ...this.#services.list(),
      ...this.#imported.list(),
      ...this.#serviceImports.list(),
    ];
    return new Set(all.map(({ metadata }) => metadata.namespace ?? ''));
  }

  /** What has an address, as the namespace and the name of the Service or import, and in words. */
  *holdersOf(
    address: string,
  ): Iterable<{ readonly kind: 'service' | 'import'; readonly key: string; readonly what: string }> {
    for (const service of this.#services.list()) {
      const { spec, status } = service;
      const places = [
        ['cluster IP', spec.clusterIPs ?? []],
        ['external IP', spec.externalIPs ?? []],
        ['load balancer', (status.loadBalancer.ingress ?? []).flatMap(({ ip }) => ip ?? [])],
      ] as const;
      for (const [what, addresses] of places) {
        if (addresses.includes(address)) yield { kind: 'service', key: keyOf(service), what };
      }
    }
    const imported = [
      ...this.#imported.list().map((each) => [keyOf(each), each.spec?.ip] as const),
      ...this.#serviceImports.list().flatMap((each) => (each.spec?.ips ?? []).map((ip) => [keyOf(each), ip] as const)),
    ];
    const keys = new Set(imported.filter(([, ip]) => ip === address).map(([key]) => key));
    for (const key of keys) yield { kind: 'import', key, what: 'address' };
    for (const slice of this.#slices.list()) {
      const key = serviceKeyOf(slice);
      const isIn = slice.endpoints?.some(({ addresses }) => addresses?.includes(address)) ?? false;
      if (key !== undefined && isIn) yield { kind: 'service', key, what: 'endpoint' };
    }
  }

  slicesOf(key: string, owner: 'service' | 'import'): readonly EndpointSlice[] {
    return this.#slices.by(owner, key);
  }

  /** What a proxy routes for one Service or import, and what else has one of its addresses. */
  routedObjects(key: string) {
    const service = this.#services.get(key);
    const addresses = new Set(service === undefined ? [] : addressesOf(service));
    const isRival = (other: Service): boolean => addressesOf(other).some((address) => addresses.has(address));
    return {
      services: this.#services.list().filter((other) => other === service || isRival(other)),
      slices: [...new Set([...this.#slices.by('service', key), ...this.#slices.by('import', key)])],
      imported: [this.#imported.get(key)].filter((each) => each !== undefined),
      imports: [this.#serviceImports.get(key)].filter((each) => each !== undefined),
      serviceCidrs: this.#serviceCidrs.list(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#informers.stop(), this.#probing]);
  }

  async #runProbe(signal: AbortSignal): Promise<void> {
    const { clock, changed, cluster } = this.#options;
    while (!signal.aborted) {
      const before = JSON.stringify(this.clusterRow());
      this.#probe = await this.#probeOnce(signal);
      if (JSON.stringify(this.clusterRow()) !== before) changed(clusterId(cluster.name));
      await sleep(clock, probeMs, signal);
    }
  }

  async #probeOnce(signal: AbortSignal) {
    const { clock, cluster } = this.#options;
    const startedAt = clock.elapsed();
    const { version } = this.#probe;
    const known = version === undefined ? {} : { version };
    try {
      const timeout = AbortSignal.timeout(probeTimeoutMs);
      const answer = await cluster.client.read('/version', { signal: AbortSignal.any([signal, timeout]) });
      const found = gitVersionOf(answer);
      return { ...(found === undefined ? {} : { version: found }), answerMs: rounded(clock.elapsed() - startedAt) };
    } catch (error) {
      if (signal.aborted) return this.#probe;
      return { ...known, error: connectionReason(error) };
    }
  }
}

/** Few distinct values, so that a steady cluster changes no row. */
const rounded = (ms: number): number => (ms < 10 ? 10 : ms < 100 ? Math.ceil(ms / 50) * 50 : Math.ceil(ms / 500) * 500);

function gitVersionOf(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null || !('gitVersion' in answer)) return undefined;
  return typeof answer.gitVersion === 'string' ? answer.gitVersion : undefined;
}

const addressesOf = ({ spec, status }: Service): readonly string[] => [
  ...(spec.clusterIPs ?? []).filter((ip) => ip !== 'None'),
  ...(spec.externalIPs ?? []),
  ...(status.loadBalancer.ingress ?? []).flatMap(({ ip }) => ip ?? []),
];

/** The last manifest that `kubectl apply` wrote is as large as the object. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

function trimService(service: Service): Service {
  const trimmed = withoutManagedFields(service);
  const { annotations } = trimmed.metadata;
  if (annotations?.[lastApplied] === undefined) return trimmed;
  const { [lastApplied]: _, ...rest } = annotations;
  return { ...trimmed, metadata: { ...trimmed.metadata, annotations: rest } };
}

/** The Services and imports that an Event is about; exports and imports have the name of their Service. */
function eventServices({ regarding: { kind = '', namespace = '', name = '' } }: EventsEvent): readonly string[] {
  return serviceKinds.has(kind) ? [`${namespace}/${name}`] : [];
}

const serviceKinds = new Set(['Service', 'ServiceExport', 'ServiceImport', 'ImportedService', 'Endpoints']);

function eventRow(cluster: string, event: EventsEvent): EventRow {
  const { metadata, regarding, series, eventTime, deprecatedLastTimestamp } = event;
  const { namespace = '', name = '' } = regarding;
  return {
    id: `${cluster}/${metadata.uid ?? ''}/${metadata.resourceVersion ?? ''}`,
    cluster,
    namespace: metadata.namespace ?? namespace,
    object: `${regarding.kind ?? 'object'} ${namespace === '' ? name : `${namespace}/${name}`}`,
    isWarning: event.type === 'Warning',
    reason: event.reason ?? '',
    text: (event.note ?? '').slice(0, longestNote),
    at: series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? '',
  };
}

/** As in Kubernetes, which accepts no longer one. */
const longestNote = 1024;
