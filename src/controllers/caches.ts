import { endpointsKind } from '../api/kinds/core/endpoints/kind.ts';
import type { Endpoints } from '../api/kinds/core/endpoints/schema.ts';
import { nodeKind } from '../api/kinds/core/node/kind.ts';
import type { Node } from '../api/kinds/core/node/schema.ts';
import { podKind } from '../api/kinds/core/pod/kind.ts';
import type { Pod } from '../api/kinds/core/pod/schema.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import { serviceNameLabel } from '../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { Kind } from '../api/kind.ts';
import type { ApiObject } from '../api/metadata.ts';
import type { Client } from '../client/client.ts';
import type { InformerOptions } from '../client/informer.ts';
import { Informer } from '../client/informer.ts';
import type { Key } from '../client/key.ts';
import { keyFor } from '../client/key.ts';
import { Selection } from './selection.ts';
import { trimNode, trimObject, trimPod, trimToMetadata } from './trim.ts';

/** Told of what goes wrong with the cache of a kind, and when it is well again. */
export interface CacheReport {
  failed(kind: Kind, error: unknown): void;
  works(kind: Kind): void;
}

/** A cache of whatever kind. */
export type Cache = Pick<Informer<ApiObject>, 'run' | 'synced' | 'hasSynced'>;

/** The objects that controllers read, one cache a kind, whichever of them reads it. */
export class Caches {
  readonly services: Informer<Service>;
  readonly pods: Informer<Pod, 'node'>;
  readonly nodes: Informer<Node>;
  readonly slices: Informer<EndpointSlice, 'service'>;
  readonly endpoints: Informer<Endpoints>;
  /** Which Services select which Pods. */
  readonly selection = new Selection();
  /** Node name → node. */
  readonly nodesByName = new Map<string, Node>();

  readonly #client: Client;
  readonly #report: CacheReport;
  /** Every cache there is, by kind. */
  readonly #all = new Map<Kind, Informer<ApiObject, string>>();
  /** What runs, until it has stopped. */
  readonly #running = new Map<Cache, Promise<void>>();
  readonly #stop = new AbortController();

  constructor(client: Client, report: CacheReport) {
    this.#client = client;
    this.#report = report;
    this.services = this.#open(serviceKind, { trim: trimObject });
    this.pods = this.#open(podKind, { trim: trimPod, indexes: { node: ({ spec }) => [spec.nodeName ?? ''] } });
    this.nodes = this.#open(nodeKind, { trim: trimNode });
    this.slices = this.#open(endpointSliceKind, {
      trim: trimObject,
      indexes: { service: (slice) => [serviceKeyOf(slice)] },
    });
    this.endpoints = this.#open(endpointsKind, { trim: trimObject });
    this.#follow();
  }

  /** The cache of any kind: what is kept of it is at least the metadata. */
  of(kind: Kind): Informer<ApiObject, string> {
    const known = this.#all.get(kind);
    return known ?? this.#open<ApiObject, string>(kind, { metadataOnly: true, trim: trimToMetadata, indexes: {} });
  }

  /** Begins to fill a cache, if it is not filled already. It goes on until all are stopped. */
  run(cache: Cache): void {
    if (!this.#running.has(cache)) this.#running.set(cache, cache.run(this.#stop.signal));
  }

  /** Resolves when every cache that runs is complete; rejects when the signal fires before. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from(this.#running.keys(), (cache) => cache.synced(signal)));
  }

  /** The kinds whose caches run and are not complete yet. */
  get unsynced(): readonly Kind[] {
    return [...this.#all].filter(([, cache]) => this.#running.has(cache) && !cache.hasSynced).map(([kind]) => kind);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running.values());
  }

  #open<T extends ApiObject, Index extends string = never>(
    kind: Kind<T>,
    options: InformerOptions<T, Index>,
  ): Informer<T, Index> {
    const informer = new Informer<T, Index>(this.#client, kind, {
      ...options,
      withoutManagedFields: true,
      onError: (error) => this.#report.failed(kind, error),
      onBegin: () => this.#report.works(kind),
    });
    // A cast that forgets which indexes there are and what the objects have beside metadata: readers need neither.
    this.#all.set(kind, informer as unknown as Informer<ApiObject, string>);
    return informer;
  }

  /** What is derived from the caches follows them before anybody else hears of a change. */
  #follow(): void {
    const { selection, nodesByName } = this;
    const setService = (service: Service): void => selection.setService(service);
    this.services.subscribe({
      added: setService,
      updated: setService,
      deleted: (service) => selection.removeService(service),
    });
    this.pods.subscribe({
      added: (pod) => selection.setPod(pod),
      updated: (pod, old) => selection.setPod(pod, old),
      deleted: (pod) => selection.removePod(pod),
    });
    const setNode = (node: Node): void => void nodesByName.set(node.metadata.name ?? '', node);
    this.nodes.subscribe({
      added: setNode,
      updated: setNode,
      deleted: ({ metadata }) => void nodesByName.delete(metadata.name ?? ''),
    });
  }
}

/** The Service that a slice says it belongs to; one that says nothing belongs to `namespace/`. */
export const serviceKeyOf = ({ metadata: { namespace, labels } }: EndpointSlice): Key =>
  keyFor({ namespace, name: labels?.[serviceNameLabel] ?? '' });
