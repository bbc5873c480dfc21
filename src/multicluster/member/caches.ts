import { hasStatusCode } from '../../client/transport.ts';
import { importKeysOf, serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { SuperclusterExport } from '../../api/kinds/multicluster/supercluster/export.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { serviceCidrKind } from '../../api/kinds/networking/servicecidr/kind.ts';
import type { ServiceCidr } from '../../api/kinds/networking/servicecidr/schema.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import { Informer } from '../../client/informer.ts';
import { OptionalInformer } from '../../client/optional-informer.ts';
import type { Usage } from '../../client/limits.ts';
import { ObjectBudget } from '../../client/limits.ts';
import type { Key } from '../../client/key.ts';
import { isOurSlice } from '../project/marks.ts';
import type { ImportFields, Shape } from '../record.ts';
import type { CurrentKinds } from './current-kinds.ts';
import { currentVersions, newestKinds } from './current-kinds.ts';
import { importFieldsOf } from './import-fields.ts';
import type { SharedEndpoints } from './shared-endpoints.ts';

export interface CachesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly endpoints: SharedEndpoints;
  /** What it may send in all. */
  readonly limit: Usage;
  /** Told of what went wrong with a kind; it is tried again. */
  readonly onError: (what: string, error: unknown) => void;
  /** Told when a group turns out to be served, or the caches are complete. */
  readonly onChange: () => void;
}

/** What slices are found by: the Service they belong to, the import they are for, the cluster they came from. */
type SliceIndex = 'service' | 'import' | 'source';

/** Whether a member serves the kinds of a shape; `unknown` until it has said so. */
type Serving = 'unknown' | 'served' | 'absent';

/** What is absent may be installed later, and what is served come in another version; where all is absent, something is wrong. */
const askAgainMs = { wrong: 1000, normal: 30_000 };

/** What is read of a member: one watch a kind, whatever the number of services. */
export class MemberCaches {
  readonly seedExports: Informer<SuperclusterExport>;
  readonly currentExports: Informer<ServiceExport>;
  readonly importedServices: Informer<ImportedService, 'source'>;
  readonly serviceImports: Informer<ServiceImport, 'source'>;
  readonly services: Informer<Service>;
  readonly slices: Informer<EndpointSlice, SliceIndex>;
  readonly namespaces: Informer<Namespace>;
  /** Where the cluster has its Services; nothing if it does not say. */
  readonly serviceCidrs: OptionalInformer<ServiceCidr>;
  readonly #options: CachesOptions;
  #epoch = new AbortController();
  readonly #serving: Record<Shape, Serving> = { seed: 'unknown', current: 'unknown' };
  #areRangesKnown = false;
  #currentKinds = newestKinds;
  #importFields: ImportFields = {};

  constructor(options: CachesOptions) {
    this.#options = options;
    const { client } = options;
    const budget = new ObjectBudget(options.limit);
    const common = <T extends ApiObject>(kind: Kind<T>) => ({
      trim: trimmed<T>,
      clock: options.clock,
      budget,
      onExcess: options.onChange,
      onError: (error: unknown) => options.onError(`the watch of ${kind.plural}.${kind.group}`, error),
    });
    this.seedExports = new Informer(client, superclusterExportKind, common(superclusterExportKind));
    this.currentExports = new Informer(client, newestKinds.exports, {
      ...common(newestKinds.exports),
      servedAs: () => this.#currentKinds.exports,
    });
    this.importedServices = new Informer<ImportedService, 'source'>(client, importedServiceKind, {
      ...common(importedServiceKind),
      indexes: { source: ({ spec }) => clustersOf(spec) },
    });
    this.serviceImports = new Informer<ServiceImport, 'source'>(client, newestKinds.imports, {
      ...common(newestKinds.imports),
      indexes: { source: ({ status }) => clustersOf(status) },
      servedAs: () => this.#currentKinds.imports,
    });
    this.namespaces = new Informer(client, namespaceKind, common(namespaceKind));
    this.serviceCidrs = new OptionalInformer<ServiceCidr>(client, [serviceCidrKind], common(serviceCidrKind));
    this.services = new Informer(client, serviceKind, common(serviceKind));
    this.slices = new Informer<EndpointSlice, SliceIndex>(client, endpointSliceKind, {
      ...common(endpointSliceKind),
      trim: (slice) => options.endpoints.in(trimmed(slice)),
      indexes: { service: sourceOf, import: importKeysOf, source: sourceClusterOf },
    });
  }

  /** Keeps the caches filled until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const always = [this.services, this.slices, this.namespaces].map((cache) => this.#fill(cache, signal));
    this.serviceCidrs.settled(signal).then(
      () => {
        this.#areRangesKnown = true;
        this.#options.onChange();
      },
      () => undefined, // stopped before
    );
    await Promise.all([
      ...always,
      this.serviceCidrs.run(signal),
      this.#followShape('seed', signal),
      this.#followShape('current', signal),
    ]);
  }

  /** Asks anew for whatever is followed: streams that lived through a break of the line may be dead and not know it. */
  reopen(): void {
    this.#epoch.abort(new Error('the connection was interrupted'));
    this.#epoch = new AbortController();
  }

  /**
   * Everything has been read. A member that serves neither shape counts as unread: definitions that were removed by
   * accident must not look like exports that are gone. One that serves one shape has no exports of the other.
   */
  get isSynced(): boolean {
    const { seed, current } = this.#serving;
    return (seed !== 'absent' || current !== 'absent') && this.isRead;
  }

  /** What is there has been read; of a shape that is not served nothing can be there. */
  get isRead(): boolean {
    const { seed, current } = this.#serving;
    if (this.excess !== undefined) return false;
    // Asked for every member whenever a service changes anywhere: no more than a look at each.
    return (
      this.#areRangesKnown &&
      this.services.hasSynced &&
      this.slices.hasSynced &&
      this.namespaces.hasSynced &&
      (seed === 'absent' || (this.seedExports.hasSynced && this.importedServices.hasSynced)) &&
      (current === 'absent' || (this.currentExports.hasSynced && this.serviceImports.hasSynced))
    );
  }

  /** Resolves when everything that is always served was read; the rest is little. Rejects when the signal fires before. */
  async read(signal: AbortSignal): Promise<void> {
    await Promise.all([this.services, this.slices, this.namespaces].map((cache) => cache.synced(signal)));
  }

  /** It sends more than it may: what is known of it is old. */
  get excess(): Error | undefined {
    const { services, slices, namespaces, seedExports, importedServices, currentExports, serviceImports } = this;
    const ofEach = services.excess ?? slices.excess ?? namespaces.excess;
    return ofEach ?? seedExports.excess ?? importedServices.excess ?? currentExports.excess ?? serviceImports.excess;
  }

  serves(shape: Shape): boolean {
    return this.#serving[shape] === 'served';
  }

  /** The version in which today's kinds are read and written. */
  get currentKinds(): CurrentKinds {
    return this.#currentKinds;
  }

  /** The fields of today's imports that are kept in that version. */
  get importFields(): ImportFields {
    return this.#importFields;
  }

  #of(shape: Shape): readonly Pick<Informer<ApiObject>, 'run' | 'synced'>[] {
    return shape === 'seed' ? [this.seedExports, this.importedServices] : [this.currentExports, this.serviceImports];
  }

  /** Finds out whether a shape is served, and follows its kinds from then on. */
  async #followShape(shape: Shape, signal: AbortSignal): Promise<void> {
    const { clock, onChange } = this.#options;
    while (!signal.aborted) {
      const served = await this.#ask(shape, signal);
      if (served !== undefined) {
        this.#serving[shape] = served;
        onChange();
      }
      if (this.#serving[shape] === 'served') break;
      const isNormal = this.#serving[shape] === 'absent' && Object.values(this.#serving).includes('served');
      await sleep(clock, isNormal ? askAgainMs.normal : askAgainMs.wrong, signal);
    }
    const following = this.#of(shape).map((cache) => this.#fill(cache, signal));
    await Promise.all([...following, ...(shape === 'current' ? [this.#followVersion(signal)] : [])]);
  }

  /** Whether a shape is served now; undefined: it could not be asked, being refused or out of reach, which is not absent. */
  async #ask(shape: Shape, signal: AbortSignal): Promise<Serving | undefined> {
    try {
      const isServed =
        shape === 'seed' ? await this.#isServed(superclusterExportKind, signal) : await this.#useNewest(signal);
      return isServed ? 'served' : 'absent';
    } catch (error) {
      if (!signal.aborted) this.#options.onError(`discovery of the kinds of shape ${shape}`, error);
      return undefined;
    }
  }

  /** Uses the newest version of today's kinds that is served, from where the last one ended; returns whether there is any. */
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

  /** A member may be upgraded while it is followed. Definitions that are gone change nothing: what is known stays. */
  async #followVersion(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#options.clock, askAgainMs.normal, signal);
      if (!signal.aborted) await this.#ask('current', signal);
    }
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

  async #fill(cache: Pick<Informer<ApiObject>, 'run' | 'synced'>, signal: AbortSignal): Promise<void> {
    cache.synced(signal).then(this.#options.onChange, () => undefined); // stopped before it was complete
    while (!signal.aborted) await cache.run(AbortSignal.any([signal, this.#epoch.signal]));
  }
}

/** Without what only the server needs; an object that is written back without it keeps it. */
export function trimmed<T extends ApiObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The Service of a slice that some cluster has of its own; none for what this controller has written. */
export function sourceOf(slice: EndpointSlice): readonly Key[] {
  const key = serviceKeyOf(slice);
  return key === undefined || isOurSlice(slice) ? [] : [key];
}

/** The cluster from which a slice of this controller came. */
const sourceClusterOf = (slice: EndpointSlice): readonly string[] =>
  isOurSlice(slice) ? [slice.metadata.labels?.[sourceClusterLabel] ?? ''] : [];

/** The clusters that an import says it comes from. */
const clustersOf = (said: { readonly clusters?: readonly { readonly cluster: string }[] } = {}): readonly string[] =>
  (said.clusters ?? []).map(({ cluster }) => cluster);
