import type { SliceOwner, SliceOwnerKind } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { sliceOwners } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { LabelSelector } from '../../api/selectors/labels.ts';
import { matchesLabels } from '../../api/selectors/labels.ts';
import type { Key } from '../../client/key.ts';
import { keyOf, nameFor } from '../../client/key.ts';
import type { Name } from '../../dnswire/data.ts';
import type { ImportModel } from '../records/imports.ts';
import {
  importedSlice,
  modelOfImport,
  modelOfImportedService,
  importRecords,
  importSliceRecords,
} from '../records/imports.ts';
import { namespaceDynamicNames, namespaceRecords } from '../records/apex.ts';
import { isWithin } from '../../dnswire/name.ts';
import type { RecordOptions } from '../records/options.ts';
import { serviceName } from '../records/options.ts';
import type { SourceSet } from '../records/packed.ts';
import { podRecords } from '../records/pods.ts';
import { serviceRecords } from '../records/service.ts';
import { sliceDynamicNames, sliceRecords } from '../records/slices.ts';
import type { Zones } from '../records/zones.ts';
import type { Caches } from './caches.ts';
import { sourceOf } from './caches.ts';

/** Selects namespaces. Objects of namespaces that do not exist or are not selected have no records, PTR included. */
export interface NamespaceChoice {
  /** Only these; all by default. */
  readonly namespaces?: ReadonlySet<string> | undefined;
  /** Only those whose labels match; all by default. */
  readonly namespaceLabels?: LabelSelector;
}

export interface ZoneUpdaterOptions extends RecordOptions, NamespaceChoice {}

/** Kind → the option that names its zone. */
const domains = {
  Service: 'clusterDomain',
  ServiceImport: 'clustersetDomain',
  ImportedService: 'superclusterDomain',
} as const;

/**
 * Updates zones from cached objects. Each method takes what changed, rebuilds the records of the sources that depend on
 * it, and reports the names whose answers changed before it returns.
 */
export class ZoneUpdater {
  readonly #caches: Caches;
  readonly #zones: Zones;
  readonly #changed: (names: readonly Name[]) => void;
  /** Names of the namespaces whose objects are published. */
  readonly #served = new Set<string>();
  readonly #options: ZoneUpdaterOptions;

  constructor(
    caches: Caches,
    {
      zones,
      options,
      changed,
    }: {
      readonly zones: Zones;
      readonly options: ZoneUpdaterOptions;
      readonly changed: (names: readonly Name[]) => void;
    },
  ) {
    this.#caches = caches;
    this.#zones = zones;
    this.#options = options;
    this.#changed = changed;
  }

  /** A namespace was added, updated or deleted. */
  namespaceChanged(name: string): void {
    if (this.#isChosen(name) === this.#served.has(name)) return;
    this.#report([this.#namespace(name)]);
  }

  serviceChanged(key: Key): void {
    this.#report([this.#service(key), ...this.#slicesOf({ kind: 'Service', key })]);
  }

  importChanged(kind: Exclude<SliceOwnerKind, 'Service'>, key: Key): void {
    this.#report([this.#import(kind, key), ...this.#slicesOf({ kind, key })]);
  }

  /** A slice was added, updated (`old` is its previous state) or deleted. */
  sliceChanged(slice: EndpointSlice, old?: EndpointSlice): void {
    const owners = [...sliceOwners(slice), ...(old === undefined ? [] : sliceOwners(old))];
    const names = this.#slice(keyOf(slice));
    this.#report([
      names,
      ...owners.map((owner) => this.#ownerOfSlice(owner)),
      ...owners.map((owner) => this.#srvOwners(names, owner)),
    ]);
  }

  /**
   * Owners of SRV records, in any slice, whose target is one of `names`: each address family has its own slices. Reads only
   * slices with records at these names, since a Service may have a thousand slices.
   */
  #srvOwners(names: readonly Name[], { kind, key }: SliceOwner): readonly Name[] {
    const { namespace = '', name } = nameFor(key);
    const domain = this.#options[domains[kind]];
    if (domain === undefined) return [];
    const service = serviceName(name, namespace, domain);
    const endpoints = names.filter((each) => each !== service && isWithin(each, service) && !each.includes('_'));
    const sources = new Set(endpoints.flatMap((each) => this.#zones.find(each)?.sources() ?? []));
    const changed = new Set(endpoints);
    return [...sources].flatMap((source) => this.#zones.ownersTargeting(changed, source));
  }

  podChanged(key: Key): void {
    this.#report([this.#pod(key)]);
  }

  /** The records of an import, and with `ignoreEmptyService` those of a Service, depend on its slices. */
  #ownerOfSlice({ kind, key }: SliceOwner): readonly Name[] {
    if (kind !== 'Service') return this.#import(kind, key);
    return this.#options.ignoreEmptyService === true ? this.#service(key) : [];
  }

  #isChosen(name: string): boolean {
    const namespace = this.#caches.namespaces.get(name);
    const { namespaces, namespaceLabels = [] } = this.#options;
    if (namespace === undefined || namespaces?.has(name) === false) return false;
    return matchesLabels(namespaceLabels, namespace.metadata.labels);
  }

  #namespace(name: string): readonly Name[] {
    const source = sourceOf('Namespace', name);
    const isServed = this.#isChosen(name);
    if (isServed) this.#served.add(name);
    else this.#served.delete(name);
    const { services, slices, pods, imports, importedServices } = this.#caches;
    return [
      ...(isServed
        ? this.#put(source, namespaceRecords(name, this.#options), namespaceDynamicNames(name, this.#options))
        : this.#zones.delete(source)),
      ...services.by('namespace', name).flatMap((object) => this.#service(keyOf(object))),
      ...imports.by('namespace', name).flatMap((object) => this.#import('ServiceImport', keyOf(object))),
      ...importedServices.by('namespace', name).flatMap((object) => this.#import('ImportedService', keyOf(object))),
      ...slices.by('namespace', name).flatMap((object) => this.#slice(keyOf(object))),
      ...pods.by('namespace', name).flatMap((object) => this.#pod(keyOf(object))),
    ];
  }

  #service(key: Key): readonly Name[] {
    const service = this.#isServed(key) ? this.#caches.services.get(key) : undefined;
    if (service === undefined) return this.#zones.delete(sourceOf('Service', key));
    const options = this.#options;
    const slices = options.ignoreEmptyService === true ? this.#slices({ kind: 'Service', key }) : [];
    return this.#put(sourceOf('Service', key), serviceRecords({ service, slices, options }));
  }

  #import(kind: Exclude<SliceOwnerKind, 'Service'>, key: Key): readonly Name[] {
    const model = this.#model(kind, key);
    if (model === undefined) return this.#zones.delete(sourceOf(kind, key));
    return this.#put(sourceOf(kind, key), importRecords(model, this.#slices({ kind, key }), this.#options));
  }

  #model(kind: Exclude<SliceOwnerKind, 'Service'>, key: Key): ImportModel | undefined {
    if (!this.#isServed(key)) return undefined;
    const { clustersetDomain, superclusterDomain } = this.#options;
    if (kind === 'ServiceImport') {
      const object = this.#caches.imports.get(key);
      return object && clustersetDomain !== undefined ? modelOfImport(object, clustersetDomain) : undefined;
    }
    const object = this.#caches.importedServices.get(key);
    return object && superclusterDomain !== undefined ? modelOfImportedService(object, superclusterDomain) : undefined;
  }

  #slices({ kind, key }: SliceOwner): readonly EndpointSlice[] {
    return this.#caches.slices.by('owner', sourceOf(kind, key));
  }

  #slicesOf(owner: SliceOwner): readonly (readonly Name[])[] {
    return this.#slices(owner).map((slice) => this.#slice(keyOf(slice)));
  }

  #slice(key: Key): readonly Name[] {
    const source = sourceOf('EndpointSlice', key);
    const slice = this.#isServed(key) ? this.#caches.slices.get(key) : undefined;
    if (slice === undefined) return this.#zones.delete(source);
    const options = this.#options;
    const sets: SourceSet[] = [];
    const dynamic: Name[] = [];
    for (const owner of sliceOwners(slice)) {
      if (owner.kind === 'Service') {
        const service = this.#caches.services.get(owner.key);
        if (service === undefined) continue;
        sets.push(...sliceRecords({ service, slice, options }));
        dynamic.push(...sliceDynamicNames({ service, slice, options }));
      } else {
        const model = this.#model(owner.kind, owner.key);
        if (model !== undefined) sets.push(...importSliceRecords(model, importedSlice(slice), options));
      }
    }
    return this.#put(source, sets, dynamic);
  }

  #pod(key: Key): readonly Name[] {
    const pod = this.#isServed(key) ? this.#caches.pods.get(key) : undefined;
    const source = sourceOf('Pod', key);
    return pod === undefined ? this.#zones.delete(source) : this.#put(source, podRecords(pod, this.#options));
  }

  #isServed(key: Key): boolean {
    return this.#served.has(nameFor(key).namespace ?? '');
  }

  #put(source: string, sets: readonly SourceSet[], dynamic: readonly Name[] = []): readonly Name[] {
    return this.#zones.put(source, sets, dynamic);
  }

  #report(changes: readonly (readonly Name[])[]): void {
    const names = changes.length === 1 ? (changes[0] ?? []) : [...new Set(changes.flat())];
    if (names.length > 0) this.#changed(names);
  }
}
