import { isRefusal } from '../../client/transport.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import type { ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import { serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { SuperclusterExport } from '../../api/kinds/multicluster/supercluster/export.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import { Informer } from '../../client/informer.ts';
import type { Key } from '../../client/key.ts';
import { keyFor } from '../../client/key.ts';
import { importNameLabels, isOurSlice, sourceClusterLabel } from '../project/marks.ts';
import type { Shape } from '../record.ts';
import type { SharedEndpoints } from './shared-endpoints.ts';

export interface CachesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly endpoints: SharedEndpoints;
  /** Told of what went wrong with a kind; it is tried again. */
  readonly onError: (what: string, error: unknown) => void;
  /** Told when a group turns out to be served, or the caches are complete. */
  readonly onChange: () => void;
}

/** What slices are found by: the Service they belong to, the import they are for, the cluster they came from. */
type SliceIndex = 'service' | 'import' | 'source';

/** Whether a member serves the kinds of a shape; `unknown` until it has said so. */
type Serving = 'unknown' | 'served' | 'absent';

/** A group that is absent may be installed later; where both are, something is wrong. */
const askAgainMs = { wrong: 1000, absent: 30_000 };

/** What is read of a member: one watch a kind, whatever the number of services. */
export class MemberCaches {
  readonly seedExports: Informer<SuperclusterExport>;
  readonly currentExports: Informer<ServiceExport>;
  readonly importedServices: Informer<ImportedService>;
  readonly serviceImports: Informer<ServiceImport>;
  readonly services: Informer<Service>;
  readonly slices: Informer<EndpointSlice, SliceIndex>;
  readonly namespaces: Informer<Namespace>;
  readonly #options: CachesOptions;
  #epoch = new AbortController();
  readonly #serving: Record<Shape, Serving> = { seed: 'unknown', current: 'unknown' };

  constructor(options: CachesOptions) {
    this.#options = options;
    const { client } = options;
    const common = <T extends ApiObject>(kind: Kind<T>) => ({
      trim: trimmed<T>,
      clock: options.clock,
      onError: (error: unknown) => options.onError(`the watch of ${kind.plural}.${kind.group}`, error),
    });
    this.seedExports = new Informer(client, superclusterExportKind, common(superclusterExportKind));
    this.currentExports = new Informer(client, serviceExportKind, common(serviceExportKind));
    this.importedServices = new Informer(client, importedServiceKind, common(importedServiceKind));
    this.serviceImports = new Informer(client, serviceImportKind, common(serviceImportKind));
    this.namespaces = new Informer(client, namespaceKind, common(namespaceKind));
    this.services = new Informer(client, serviceKind, common(serviceKind));
    this.slices = new Informer<EndpointSlice, SliceIndex>(client, endpointSliceKind, {
      ...common(endpointSliceKind),
      trim: (slice) => options.endpoints.in(trimmed(slice)),
      indexes: { service: sourceOf, import: importsOf, source: sourceClusterOf },
    });
  }

  /** Keeps the caches filled until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const always = [this.services, this.slices, this.namespaces].map((cache) => this.#fill(cache, signal));
    await Promise.all([...always, this.#followShape('seed', signal), this.#followShape('current', signal)]);
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
    const shapes = (['seed', 'current'] as const).filter((shape) => this.#serving[shape] !== 'absent');
    const needed = [this.services, this.slices, this.namespaces, ...shapes.flatMap((shape) => this.#of(shape))];
    return shapes.length > 0 && needed.every(({ hasSynced }) => hasSynced);
  }

  serves(shape: Shape): boolean {
    return this.#serving[shape] === 'served';
  }

  #of(shape: Shape): readonly Pick<Informer<ApiObject>, 'run' | 'synced' | 'hasSynced'>[] {
    return shape === 'seed' ? [this.seedExports, this.importedServices] : [this.currentExports, this.serviceImports];
  }

  async #followShape(shape: Shape, signal: AbortSignal): Promise<void> {
    const { clock, onChange, onError } = this.#options;
    const kind = shape === 'seed' ? superclusterExportKind : serviceExportKind;
    while (!signal.aborted) {
      try {
        this.#serving[shape] = await this.#askServing(kind, signal);
        onChange();
      } catch (error) {
        if (signal.aborted) return;
        // Refused or out of reach: unknown, which is not the same as absent.
        onError(`discovery of ${kind.group}`, error);
      }
      if (this.#serving[shape] === 'served') break;
      const isNormal = this.#serving[shape] === 'absent' && Object.values(this.#serving).includes('served');
      await sleep(clock, isNormal ? askAgainMs.absent : askAgainMs.wrong, signal);
    }
    await Promise.all(this.#of(shape).map((cache) => this.#fill(cache, signal)));
  }

  async #askServing({ group, version }: Kind, signal: AbortSignal): Promise<Serving> {
    try {
      await this.#options.client.read(`/apis/${group}/${version}`, { signal });
      return 'served';
    } catch (error) {
      if (isRefusal(error, 404)) return 'absent';
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
  const { namespace, labels } = slice.metadata;
  const name = labels?.[serviceNameLabel];
  return name === undefined || isOurSlice(slice) ? [] : [keyFor({ namespace, name })];
}

/** The services that a slice is for by its labels, whoever has written it: one that is in our way is found too. */
export function importsOf({ metadata: { namespace, labels = {} } }: EndpointSlice): readonly Key[] {
  const names = Object.values(importNameLabels).flatMap((label) => labels[label] ?? []);
  return [...new Set(names)].map((name) => keyFor({ namespace, name }));
}

/** The cluster from which a slice of this controller came. */
const sourceClusterOf = (slice: EndpointSlice): readonly string[] =>
  isOurSlice(slice) ? [slice.metadata.labels?.[sourceClusterLabel] ?? ''] : [];
