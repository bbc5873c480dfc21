import { serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { onKeyChange } from '../../client/handlers.ts';
import type { InformersOptions } from '../../client/informers.ts';
import { Informers } from '../../client/informers.ts';
import type { Name } from '../../dnswire/data.ts';
import type { Zones } from '../records/zones.ts';
import type { ZoneUpdaterOptions } from './zone-updater.ts';
import { ZoneUpdater } from './zone-updater.ts';
import type { Caches } from './caches.ts';
import { byNamespace, emptyLister, sliceIndexes } from './caches.ts';
import { trimNamespace, trimPod, trimService, trimSliceTo } from './trim.ts';

export interface ZoneControllerOptions extends InformersOptions {
  /** Receives the records; its zones are those of `records`. */
  readonly zones: Zones;
  /**
   * Selects the records. It also decides, once, which kinds are watched and which fields are kept: Pods only if they are
   * verified, imports by zone, Pod names and topology zones of endpoints only if records need them.
   */
  readonly records: ZoneUpdaterOptions;
  /** Called with the names whose answers changed, before the next change is processed. */
  readonly changed: (names: readonly Name[]) => void;
  /** Called for each slice that changed after the first sync, once its records are in the zones; for metrics. */
  readonly sliceServed?: (slice: EndpointSlice, service: Service | undefined) => void;
}

/** Watches a cluster and keeps zones up to date. A change is in the zones when its handler returns. */
export class ZoneController {
  readonly caches: Caches;
  readonly #informers: Informers;
  readonly #sliceServed: ZoneControllerOptions['sliceServed'];
  #hasSynced = false;

  constructor({ zones, records, changed, sliceServed, ...options }: ZoneControllerOptions) {
    this.#sliceServed = sliceServed;
    this.#informers = new Informers(options);
    const informers = this.#informers;
    // Namespaces first: the records of an object are made only when its namespace is in the cache.
    const namespaces = informers.of(namespaceKind, { trim: trimNamespace });
    const services = informers.of(serviceKind, { trim: trimService, indexes: byNamespace });
    const slices =
      records.noEndpoints === true
        ? undefined
        : informers.of(endpointSliceKind, { trim: trimSliceTo(records), indexes: sliceIndexes });
    const pods =
      records.pods === 'verified' ? informers.of(podKind, { trim: trimPod, indexes: byNamespace }) : undefined;
    const imports =
      records.clustersetDomain === undefined
        ? undefined
        : informers.optional([serviceImportKind, serviceImportAlphaKind], { indexes: byNamespace });
    const importedServices =
      records.superclusterDomain === undefined
        ? undefined
        : informers.optional([importedServiceKind], { indexes: byNamespace });
    this.caches = {
      namespaces,
      services,
      slices: slices ?? emptyLister,
      pods: pods ?? emptyLister,
      imports: imports ?? emptyLister,
      importedServices: importedServices ?? emptyLister,
    };
    const updater = new ZoneUpdater(this.caches, { zones, options: records, changed });
    namespaces.subscribe(onKeyChange((name) => updater.namespaceChanged(name)));
    services.subscribe(onKeyChange((key) => updater.serviceChanged(key)));
    slices?.subscribe({
      added: (slice) => {
        updater.sliceChanged(slice);
        this.#served(slice);
      },
      updated: (slice, old) => {
        updater.sliceChanged(slice, old);
        this.#served(slice);
      },
      deleted: (slice) => updater.sliceChanged(slice),
    });
    pods?.subscribe(onKeyChange((key) => updater.podChanged(key)));
    imports?.subscribe(onKeyChange((key) => updater.importChanged('ServiceImport', key)));
    importedServices?.subscribe(onKeyChange((key) => updater.importChanged('ImportedService', key)));
  }

  /** Whether every kind was read completely once. Until then a name that is not found may exist. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Starts the informers; resolves when every kind was read completely, and stays pending if stopped before. */
  async start(): Promise<void> {
    this.#informers.start();
    await this.#informers.synced();
    this.#hasSynced = true;
  }

  async stop(): Promise<void> {
    await this.#informers.stop();
  }

  /** A sentence for each kind that was not read completely yet, with the last error. */
  unsynced(): readonly string[] {
    return this.#informers.unsynced();
  }

  /** Milliseconds since the API server last sent anything, bookmarks included, for each kind it serves. */
  silence(): ReturnType<Informers['silence']> {
    return this.#informers.silence();
  }

  #served(slice: EndpointSlice): void {
    if (!this.#hasSynced || this.#sliceServed === undefined) return;
    const key = serviceKeyOf(slice);
    this.#sliceServed(slice, key === undefined ? undefined : this.caches.services.get(key));
  }
}
