import { serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Kind } from '../../api/kind.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import type { Handler } from '../../client/informer.ts';
import { Informer } from '../../client/informer.ts';
import { keyOf } from '../../client/key.ts';
import { OptionalInformer } from '../../client/optional-informer.ts';
import type { Name } from '../../dnswire/data.ts';
import type { Zones } from '../records/zones.ts';
import type { AssemblerOptions } from './assembler.ts';
import { Assembler } from './assembler.ts';
import type { Caches } from './caches.ts';
import { byNamespace, nothing, sliceIndexes } from './caches.ts';
import { trimNamespace, trimObject, trimPod, trimService, trimSliceTo } from './trim.ts';

export interface FollowerOptions {
  readonly client: Client;
  /** Where records are put; its zones are those of `records`. */
  readonly zones: Zones;
  /**
   * Which records there are. What is followed and kept is decided by it once: Pods only if they are verified, imports by
   * zone, names of Pods and topology zones of endpoints only where they are asked for.
   */
  readonly records: AssemblerOptions;
  /** Told of the names that have a new answer, before the next change is looked at. */
  readonly changed: (names: readonly Name[]) => void;
  /** Told of each slice that was read after the beginning, once its records are in place; for metrics. */
  readonly sliceServed?: (slice: EndpointSlice, service: Service | undefined) => void;
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
}

/** How long ago the API server last said anything about a kind. */
export interface Freshness {
  /** As in URLs, such as `endpointslices`. */
  readonly resource: string;
  /** Undefined: never. */
  readonly silentMs: number | undefined;
}

interface Followed {
  readonly resource: string;
  /** Whether the cluster may do without it. */
  readonly isOptional: boolean;
  readonly informer: { readonly silentMs: number | undefined; run(signal: AbortSignal): Promise<void> };
  readonly settled: Promise<unknown>;
}

/** Follows a cluster, and keeps zones as its objects say. Changes are in the zones when their handlers return. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #followed: Followed[] = [];
  readonly #assembler: Assembler;
  readonly caches: Caches;
  readonly #synced: Promise<void>;
  #hasSynced = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.caches = this.#openCaches();
    const { zones, records, changed } = options;
    this.#assembler = new Assembler(this.caches, { zones, options: records, changed });
    this.#synced = Promise.all(this.#followed.map(({ settled }) => settled)).then(() => {
      this.#hasSynced = true;
    });
  }

  /** Whether everything there is has been read once. Until then a name that is not found may yet exist. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves when everything there is has been read; never where `run` ends before. */
  get synced(): Promise<void> {
    return this.#synced;
  }

  /** Kinds that are followed, each with the time since the server last spoke of it; those it does not have are left out. */
  freshness(): readonly Freshness[] {
    return this.#followed.flatMap(({ resource, isOptional, informer: { silentMs } }) =>
      isOptional && silentMs === undefined ? [] : [{ resource, silentMs }],
    );
  }

  /** Makes all records anew by other options, such as a gate that was switched. The zones and what is followed stay. */
  reconfigure(records: AssemblerOptions): void {
    this.#assembler.reconfigure(records);
  }

  /** Follows until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#followed.map(({ informer }) => informer.run(signal)));
  }

  #openCaches(): Caches {
    const { records } = this.#options;
    const namespaces = new Informer<Namespace>(
      this.#options.client,
      namespaceKind,
      this.#tuned({ trim: trimNamespace }),
    );
    const services = new Informer<Service, 'namespace'>(
      this.#options.client,
      serviceKind,
      this.#tuned({ trim: trimService, indexes: byNamespace }),
    );
    // Namespaces come first: what is in one that is not known yet is made only once it is.
    this.#follow(
      'namespaces',
      namespaces,
      keyed((name) => this.#assembler.namespaceChanged(name)),
    );
    this.#follow(
      'services',
      services,
      keyed((key) => this.#assembler.serviceChanged(key)),
    );
    return {
      namespaces,
      services,
      slices: records.noEndpoints === true ? nothing : this.#openSlices(),
      pods: records.pods === 'verified' ? this.#openPods() : nothing,
      imports: records.clustersetDomain === undefined ? nothing : this.#openImports(),
      importedServices: records.superclusterDomain === undefined ? nothing : this.#openImportedServices(),
    };
  }

  #openSlices(): Caches['slices'] {
    const slices = new Informer<EndpointSlice, 'namespace' | 'owner'>(
      this.#options.client,
      endpointSliceKind,
      this.#tuned({ trim: trimSliceTo(this.#options.records), indexes: sliceIndexes }),
    );
    this.#follow('endpointslices', slices, {
      added: (slice) => this.#sliceChanged(slice),
      updated: (slice, old) => this.#sliceChanged(slice, old),
      deleted: (slice) => this.#assembler.sliceChanged(slice),
    });
    return slices;
  }

  #sliceChanged(slice: EndpointSlice, old?: EndpointSlice): void {
    this.#assembler.sliceChanged(slice, old);
    const { sliceServed } = this.#options;
    if (!this.#hasSynced || sliceServed === undefined) return;
    const key = serviceKeyOf(slice);
    sliceServed(slice, key === undefined ? undefined : this.caches.services.get(key));
  }

  #openPods(): Caches['pods'] {
    const pods = new Informer<Pod, 'namespace'>(
      this.#options.client,
      podKind,
      this.#tuned({ trim: trimPod, indexes: byNamespace }),
    );
    this.#follow(
      'pods',
      pods,
      keyed((key) => this.#assembler.podChanged(key)),
    );
    return pods;
  }

  #openImports(): Caches['imports'] {
    const handler = keyed<ServiceImport>((key) => this.#assembler.importChanged('ServiceImport', key));
    return this.#followOptional('serviceimports', [serviceImportKind, serviceImportAlphaKind], handler);
  }

  #openImportedServices(): Caches['importedServices'] {
    const handler = keyed<ImportedService>((key) => this.#assembler.importChanged('ImportedService', key));
    return this.#followOptional('importedservices', [importedServiceKind], handler);
  }

  #tuned<T extends object>(options: T): T & { readonly clock: Clock; readonly onError: (error: unknown) => void } {
    const { clock = systemClock, onError = () => {} } = this.#options;
    return { ...options, clock, onError };
  }

  #follow<T extends ApiObject, Index extends string>(
    resource: string,
    informer: Informer<T, Index>,
    handler: Handler<T>,
  ): void {
    informer.subscribe(handler);
    this.#followed.push({ resource, isOptional: false, informer, settled: informer.synced() });
  }

  #followOptional<T extends ApiObject>(
    resource: string,
    kinds: readonly Kind<T>[],
    handler: Handler<T>,
  ): OptionalInformer<T, 'namespace'> {
    const options = this.#tuned({ trim: trimObject<T>, indexes: byNamespace });
    const informer = new OptionalInformer<T, 'namespace'>(this.#options.client, kinds, options);
    informer.subscribe(handler);
    this.#followed.push({ resource, isOptional: true, informer, settled: informer.settled() });
    return informer;
  }
}

/** Whatever happens to an object, its key says what to look at. */
const keyed = <T extends ApiObject>(run: (key: string) => void): Handler<T> => ({
  added: (object) => run(keyOf(object)),
  updated: (object) => run(keyOf(object)),
  deleted: (object) => run(keyOf(object)),
});
