import { importKeysOf, serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceExportAlphaKind, serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import type { McsVersion, ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { SuperclusterExport } from '../../api/kinds/multicluster/supercluster/export.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { serviceCidrKind } from '../../api/kinds/networking/servicecidr/kind.ts';
import type { ServiceCidr } from '../../api/kinds/networking/servicecidr/schema.ts';
import type { Kind } from '../../api/kind.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import type { Informer } from '../../client/informer.ts';
import type { InformersOptions } from '../../client/informers.ts';
import { Informers } from '../../client/informers.ts';
import type { OptionalInformer } from '../../client/optional-informer.ts';
import type { Usage } from '../../client/limits.ts';
import { ObjectBudget } from '../../client/limits.ts';
import type { Key } from '../../client/key.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { isOurSlice } from '../project/labels.ts';
import type { ImportFields, Shape } from '../record.ts';
import { importFieldsOf } from './import-fields.ts';
import type { SharedEndpoints } from './shared-endpoints.ts';

export interface CachesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: InformersOptions['log'];
  readonly endpoints: SharedEndpoints;
  /** Limit of all cached objects. */
  readonly limit: Usage;
  /** Called when a shape turns out to be served, a cache has synced, or the limit is exceeded or no longer is. */
  readonly onChange: () => void;
}

/** The kinds of the current shape in one version. */
interface CurrentKinds {
  readonly version: McsVersion;
  readonly exports: Kind<ServiceExport>;
  readonly imports: Kind<ServiceImport>;
}

/** The newest version, in which everything is computed. */
const newestKinds: CurrentKinds = { version: 'v1beta1', exports: serviceExportKind, imports: serviceImportKind };

/** The versions that a member may serve, newest first. They have the same fields and are views of the same objects. */
const currentVersions: readonly CurrentKinds[] = [
  newestKinds,
  { version: 'v1alpha1', exports: serviceExportAlphaKind, imports: serviceImportAlphaKind },
];

/** Replaces a kind of the current shape by the version that a member serves. */
export function servedAs(kind: Kind, { exports, imports }: CurrentKinds): Kind {
  if (kind === newestKinds.exports) return exports;
  return kind === newestKinds.imports ? imports : kind;
}

/** Indexes of slices: by exported Service, by import, by source cluster. */
type SliceIndex = 'service' | 'import' | 'source';

/** Whether a member serves the kinds of a shape; `unknown` until it has answered. `deleted`: it did, and its caches are kept. */
type Serving = 'unknown' | 'served' | 'absent' | 'deleted';

const isMissing = (serving: Serving): boolean => serving === 'absent' || serving === 'deleted';

/** Intervals of discovery. A shape may be installed later or in another version; a member without any is likely misconfigured. */
const discoveryMs = { unserved: 1000, normal: 30_000 };

/** The caches of a member: one watch per kind, whatever the number of services. */
export class MemberCaches {
  readonly seedExports: Informer<SuperclusterExport>;
  readonly currentExports: Informer<ServiceExport>;
  readonly importedServices: Informer<ImportedService, 'source'>;
  readonly serviceImports: Informer<ServiceImport, 'source'>;
  readonly services: Informer<Service>;
  readonly slices: Informer<EndpointSlice, SliceIndex>;
  readonly namespaces: Informer<Namespace>;
  /** The service ranges of the cluster; empty if the server does not serve them. */
  readonly serviceCidrs: OptionalInformer<ServiceCidr>;
  readonly #options: CachesOptions;
  readonly #informers: Informers;
  readonly #serving: Record<Shape, Serving> = { seed: 'unknown', current: 'unknown' };
  /** Ends the wait for the next discovery. */
  readonly #wake: Record<Shape, AbortController> = { seed: new AbortController(), current: new AbortController() };
  #areRangesKnown = false;
  #currentKinds = newestKinds;
  #importFields: ImportFields = {};

  constructor(options: CachesOptions) {
    this.#options = options;
    const informers = new Informers(options);
    this.#informers = informers;
    const limited = { budget: new ObjectBudget(options.limit), onExcess: options.onChange };
    /** The server may have lost the kinds of a shape: discovers them at once. */
    const checked = (shape: Shape): { readonly onNotFound: () => void } => ({
      onNotFound: () => this.#wake[shape].abort(),
    });
    this.seedExports = informers.of(superclusterExportKind, { ...limited, ...checked('seed') });
    this.currentExports = informers.of(newestKinds.exports, {
      ...limited,
      ...checked('current'),
      servedAs: () => this.#currentKinds.exports,
    });
    this.importedServices = informers.of<ImportedService, 'source'>(importedServiceKind, {
      ...limited,
      indexes: { source: ({ spec }) => clustersOf(spec) },
    });
    this.serviceImports = informers.of<ServiceImport, 'source'>(newestKinds.imports, {
      ...limited,
      indexes: { source: ({ status }) => clustersOf(status) },
      servedAs: () => this.#currentKinds.imports,
    });
    this.namespaces = informers.of(namespaceKind, limited);
    this.serviceCidrs = informers.optional([serviceCidrKind], limited);
    this.services = informers.of(serviceKind, limited);
    this.slices = informers.of<EndpointSlice, SliceIndex>(endpointSliceKind, {
      ...limited,
      trim: (slice) => options.endpoints.in(slice),
      indexes: { service: sourceOf, import: importKeysOf, source: sourceClusterOf },
    });
  }

  /** Keeps the caches filled until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    this.#start(this.services, this.slices, this.namespaces);
    this.#informers.start(this.serviceCidrs);
    const rangesKnown = this.serviceCidrs.settled(signal).then(
      () => {
        this.#areRangesKnown = true;
        this.#options.onChange();
      },
      () => undefined, // stopped first
    );
    await Promise.all([rangesKnown, this.#followShape('seed', signal), this.#followShape('current', signal)]);
    await this.#informers.stop();
  }

  /** Opens all watches again: a stream that outlived an interruption may be dead without an error. */
  reopen(): void {
    this.#informers.reopen();
  }

  /**
   * Whether everything has been read. A member that serves neither shape is not synced: definitions that were deleted by
   * accident must not look like deleted exports. A member that serves one shape has no exports of the other.
   */
  get isSynced(): boolean {
    return !this.#lacksBoth && this.isRead;
  }

  /** Whether the server is known to serve neither shape. */
  get lacksKinds(): boolean {
    return this.#lacksBoth && this.isRead;
  }

  get #lacksBoth(): boolean {
    const { seed, current } = this.#serving;
    return isMissing(seed) && isMissing(current);
  }

  /** Grows while the member is read for the first time. */
  get progress(): number {
    const { services, slices, namespaces, seedExports, importedServices, currentExports, serviceImports } = this;
    const read = [services, slices, namespaces, seedExports, importedServices, currentExports, serviceImports];
    const known = Object.values(this.#serving).filter((serving) => serving !== 'unknown');
    return read.filter(({ hasSynced }) => hasSynced).length + known.length + (this.#areRangesKnown ? 1 : 0);
  }

  /** Whether everything that can exist has been read: of a shape that is not served nothing can exist. */
  get isRead(): boolean {
    const { seed, current } = this.#serving;
    if (this.excess !== undefined) return false;
    // Called for every member on every change of a service, so it must be cheap.
    return (
      this.#areRangesKnown &&
      this.services.hasSynced &&
      this.slices.hasSynced &&
      this.namespaces.hasSynced &&
      (seed === 'absent' || (this.seedExports.hasSynced && this.importedServices.hasSynced)) &&
      (current === 'absent' || (this.currentExports.hasSynced && this.serviceImports.hasSynced))
    );
  }

  /** Resolves when the large kinds, which every server serves, have been read. Rejects when the signal fires first. */
  async read(signal: AbortSignal): Promise<void> {
    await Promise.all([this.services, this.slices, this.namespaces].map((cache) => cache.synced(signal)));
  }

  /** Why the caches are outdated: the member exceeds its limit. */
  get excess(): Error | undefined {
    const { services, slices, namespaces, seedExports, importedServices, currentExports, serviceImports } = this;
    const ofEach = services.excess ?? slices.excess ?? namespaces.excess;
    return ofEach ?? seedExports.excess ?? importedServices.excess ?? currentExports.excess ?? serviceImports.excess;
  }

  serves(shape: Shape): boolean {
    return this.#serving[shape] === 'served' || this.#serving[shape] === 'deleted';
  }

  /** The version of the current shape that is read and written. */
  get currentKinds(): CurrentKinds {
    return this.#currentKinds;
  }

  /** The fields that the server stores of a ServiceImport in that version. */
  get importFields(): ImportFields {
    return this.#importFields;
  }

  #start(...caches: readonly Pick<Informer<ServiceExport>, 'run' | 'synced'>[]): void {
    this.#informers.start(...caches);
    for (const cache of caches) void cache.synced().then(this.#options.onChange); // never rejects without a signal
  }

  /**
   * Starts the caches of a shape when it is served, and keeps following what is served: a member may be upgraded.
   * Definitions that are deleted change nothing in the caches: their objects must not look deleted.
   */
  async #followShape(shape: Shape, signal: AbortSignal): Promise<void> {
    const { clock, onChange } = this.#options;
    const caches =
      shape === 'seed' ? [this.seedExports, this.importedServices] : [this.currentExports, this.serviceImports];
    while (!signal.aborted) {
      this.#wake[shape] = new AbortController();
      const found = await this.#discover(shape, signal);
      const before = this.#serving[shape];
      const now = found === 'absent' && this.serves(shape) ? 'deleted' : (found ?? before);
      this.#serving[shape] = now;
      if (now === 'served' && before !== 'served') this.#start(...caches);
      if (now !== before) onChange();
      const isNormal = now !== 'unknown' && Object.values(this.#serving).includes('served');
      const wake = AbortSignal.any([signal, this.#wake[shape].signal]);
      await sleep(clock, isNormal ? discoveryMs.normal : discoveryMs.unserved, wake);
    }
  }

  /** Whether a shape is served now; undefined: discovery failed, which does not mean that it is absent. */
  async #discover(shape: Shape, signal: AbortSignal): Promise<Serving | undefined> {
    try {
      const isServed =
        shape === 'seed' ? await this.#isServed(superclusterExportKind, signal) : await this.#useNewest(signal);
      return isServed ? 'served' : 'absent';
    } catch (error) {
      if (!signal.aborted) this.#options.log.debug({ shape, err: error }, 'discovery failed, retrying');
      return undefined;
    }
  }

  /** Uses the newest version of the current shape that is served, and returns whether there is one. Caches stay valid. */
  async #useNewest(signal: AbortSignal): Promise<boolean> {
    for (const kinds of currentVersions) {
      if (!(await this.#isServed(kinds.exports, signal))) continue;
      this.#importFields = await importFieldsOf(this.#options.client, kinds.imports, signal);
      const isOther = kinds !== this.#currentKinds;
      this.#currentKinds = kinds;
      if (isOther) this.reopen();
      return true;
    }
    return false;
  }

  async #isServed({ group, version }: Kind, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#options.client.read(`/apis/${group}/${version}`, { signal });
      return true;
    } catch (error) {
      if (hasStatusCode(error, 404)) return false;
      throw error;
    }
  }
}

/** The Service of a slice; none if this controller has written the slice. */
export function sourceOf(slice: EndpointSlice): readonly Key[] {
  const key = serviceKeyOf(slice);
  return key === undefined || isOurSlice(slice) ? [] : [key];
}

/** The source cluster of a slice that this controller has written. */
const sourceClusterOf = (slice: EndpointSlice): readonly string[] =>
  isOurSlice(slice) ? [slice.metadata.labels?.[sourceClusterLabel] ?? ''] : [];

/** The source clusters in an import. */
const clustersOf = (listed: { readonly clusters?: readonly { readonly cluster: string }[] } = {}): readonly string[] =>
  (listed.clusters ?? []).map(({ cluster }) => cluster);
