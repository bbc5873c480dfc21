// Watches the objects that are published.
import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../api/kind.ts';
import { nodeKind } from '../api/kinds/core/node/kind.ts';
import type { Node } from '../api/kinds/core/node/schema.ts';
import { isHeadless } from '../api/kinds/core/service/facts.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../api/metadata.ts';
import type { Handler, Informer } from '../client/informer.ts';
import type { Informers } from '../client/informers.ts';
import { keyOf } from '../client/key.ts';
import type { OptionalInformer } from '../client/optional-informer.ts';
import type { PlanOptions } from './options.ts';
import type { Claim } from './plan/claim.ts';
import { claimOf, isPublished, sliceOwnersOf } from './plan/sources.ts';

/** An object for an Event. */
interface Found {
  readonly kind: Kind;
  readonly object: ApiObject;
}

/** Called with the keys, `NS/NAME`, of objects whose claims may have changed. */
type Listener = (keys: Iterable<string>) => void;

/** The objects of the cluster that are published, and their claims. */
export class Sources {
  readonly #options: Pick<PlanOptions, 'sources' | 'ttl'>;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice, 'owner'>;
  readonly #nodes: Informer<Node>;
  readonly #imports: OptionalInformer<ServiceImport>;
  readonly #seedImports: OptionalInformer<ImportedService>;
  readonly #listeners = new Set<Listener>();
  /** All nodes; undefined: they have changed. */
  #nodeList: readonly Node[] | undefined;

  constructor(informers: Informers, options: Pick<PlanOptions, 'sources' | 'ttl'>) {
    this.#options = options;
    this.#services = informers.of(serviceKind);
    this.#slices = informers.of<EndpointSlice, 'owner'>(endpointSliceKind, { indexes: { owner: sliceOwnersOf } });
    this.#nodes = informers.of(nodeKind);
    this.#imports = informers.optional([serviceImportKind, serviceImportAlphaKind]);
    this.#seedImports = informers.optional([importedServiceKind]);
    this.#follow();
    informers.start();
  }

  /** Resolves when all objects have been read. Before that nothing may be deleted. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([
      ...[this.#services, this.#slices, this.#nodes].map((each) => each.synced(signal)),
      ...[this.#imports, this.#seedImports].map((each) => each.settled(signal)),
    ]);
  }

  /** Whether imports can be read. If not, nothing is known of them: the server may lack them, or not allow to read them. */
  get hasImports(): boolean {
    return !this.#options.sources.includes('import') || this.#imports.isServed || this.#seedImports.isServed;
  }

  /** The keys of all objects that may have claims. */
  keys(): ReadonlySet<string> {
    return new Set(
      [this.#services, this.#imports, this.#seedImports].flatMap((each) =>
        each.list().flatMap((object) => (object.metadata.annotations === undefined ? [] : keyOf(object))),
      ),
    );
  }

  /** The claims of objects; undefined: an object has none, or does not exist. */
  claimsOf(keys: Iterable<string>): ReadonlyMap<string, Claim | undefined> {
    return new Map([...keys].map((key) => [key, this.#claimOf(key)]));
  }

  #claimOf(key: string): Claim | undefined {
    const { sources, ttl } = this.#options;
    const imports = [this.#imports.get(key) ?? [], this.#seedImports.get(key) ?? []].flat();
    const named = {
      service: sources.includes('service') ? this.#services.get(key) : undefined,
      imports: sources.includes('import') ? imports : [],
    };
    return claimOf(named, (kind) => ({
      slices: this.#slices.by('owner', `${kind}/${key}`),
      nodes: (this.#nodeList ??= this.#nodes.list()),
      ttl,
    }));
  }

  /** The object of a claim: `service/NS/NAME` or `serviceimport/NS/NAME`. */
  find(resource: string): Found | undefined {
    const key = keyIn(resource);
    const found = (kindOf: Kind, object: ApiObject | undefined): Found | undefined =>
      object && { kind: kindOf, object };
    if (resource.startsWith('service/')) return found(serviceKind, this.#services.get(key));
    return found(serviceImportKind, this.#imports.get(key)) ?? found(importedServiceKind, this.#seedImports.get(key));
  }

  /** Calls `changed` for all objects that may have claims, and then for those whose claims may have changed. */
  subscribe(changed: Listener): () => void {
    this.#listeners.add(changed);
    changed(this.keys());
    return () => void this.#listeners.delete(changed);
  }

  #follow(): void {
    const notify: Listener = (keys) => {
      for (const listener of this.#listeners) listener(keys);
    };
    const ofObject = (object: ApiObject): void => void (isPublished(object) && notify([keyOf(object)]));
    const handler: Handler<ApiObject> = {
      added: ofObject,
      updated: (object, old) => void ((isPublished(object) || isPublished(old)) && notify([keyOf(object)])),
      deleted: ofObject,
    };
    const ofSlice = (slice: EndpointSlice): void =>
      notify(sliceOwnersOf(slice).flatMap((owner) => (this.#isOwnerPublished(owner) ? keyIn(owner) : [])));
    const ofNode = (): void => {
      this.#nodeList = undefined;
      notify(this.#services.list().flatMap((each) => (usesNodes(each) && isPublished(each) ? keyOf(each) : [])));
    };
    for (const each of [this.#services, this.#imports, this.#seedImports]) each.subscribe(handler);
    this.#slices.subscribe({
      added: ofSlice,
      updated(slice, old) {
        ofSlice(slice);
        if (slice.metadata.labels !== old.metadata.labels) ofSlice(old);
      },
      deleted: ofSlice,
    });
    this.#nodes.subscribe({
      added: ofNode,
      updated: (node, old) => void (isDeepStrictEqual(publishedOf(node), publishedOf(old)) || ofNode()),
      deleted: ofNode,
    });
  }

  #isOwnerPublished(owner: string): boolean {
    const key = keyIn(owner);
    const objects = owner.startsWith('service/')
      ? [this.#services.get(key)]
      : [this.#imports.get(key), this.#seedImports.get(key)];
    return objects.some((object) => object !== undefined && isPublished(object));
  }
}

/** `service/NS/NAME` → `NS/NAME`. */
const keyIn = (owner: string): string => owner.slice(owner.indexOf('/') + 1);

/** Whether the addresses of nodes may be published for a Service. */
const usesNodes = (service: Service): boolean => service.spec.type === 'NodePort' || isHeadless(service);

/** What is published of a node, or decides whether it is. Nodes report other state every few seconds. */
const publishedOf = ({ metadata, spec, status }: Node): readonly unknown[] => [
  metadata.name,
  status?.addresses,
  spec?.unschedulable,
  status?.conditions?.find(({ type }) => type === 'Ready')?.status,
];
