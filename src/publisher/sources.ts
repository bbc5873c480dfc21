// Watches the objects that are published.
import type { Kind } from '../api/kind.ts';
import { nodeKind } from '../api/kinds/core/node/kind.ts';
import type { Node } from '../api/kinds/core/node/schema.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../api/kinds/multicluster/supercluster/import.ts';
import { importedServiceKind } from '../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../api/metadata.ts';
import type { Informer } from '../client/informer.ts';
import type { Informers } from '../client/informers.ts';
import type { OptionalInformer } from '../client/optional-informer.ts';
import type { SourceName } from './options.ts';
import type { Claim } from './plan/claim.ts';
import { nodeAddresses } from './plan/nodes.ts';
import { ClaimCache, isPublished, sliceOwnersOf } from './plan/sources.ts';

/** An object for an Event. */
interface Found {
  readonly kind: Kind;
  readonly object: ApiObject;
}

/** The objects of the cluster that are published, and their claims. */
export class Sources {
  readonly #sources: readonly SourceName[];
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice, 'owner'>;
  readonly #nodes: Informer<Node>;
  readonly #imports: OptionalInformer<ServiceImport>;
  readonly #seedImports: OptionalInformer<ImportedService>;
  readonly #claims: ClaimCache;
  /** A copy that changes only with what is published of nodes: nodes report their state every few seconds. */
  #nodeList: readonly Node[] = [];
  #nodeState = '';

  constructor(
    informers: Informers,
    { sources, ttl }: { readonly sources: readonly SourceName[]; readonly ttl: number },
  ) {
    this.#sources = sources;
    this.#claims = new ClaimCache(ttl);
    this.#services = informers.of(serviceKind);
    this.#slices = informers.of<EndpointSlice, 'owner'>(endpointSliceKind, { indexes: { owner: sliceOwnersOf } });
    this.#nodes = informers.of(nodeKind);
    this.#imports = informers.optional([serviceImportKind, serviceImportAlphaKind]);
    this.#seedImports = informers.optional([importedServiceKind]);
    informers.start();
  }

  /** Resolves when all objects have been read. Before that nothing may be deleted. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([
      ...[this.#services, this.#slices, this.#nodes].map((each) => each.synced(signal)),
      ...[this.#imports, this.#seedImports].map((each) => each.settled(signal)),
    ]);
  }

  /** The claims of all objects. */
  claims(): readonly Claim[] {
    this.#readNodes();
    const has = (name: SourceName): boolean => this.#sources.includes(name);
    return this.#claims.claims({
      services: has('service') ? this.#services.list() : [],
      imports: has('import') ? [...this.#imports.list(), ...this.#seedImports.list()] : [],
      slicesOf: (owner) => this.#slices.by('owner', owner),
      nodes: this.#nodeList,
    });
  }

  /** The object of a claim: `service/NS/NAME` or `serviceimport/NS/NAME`. */
  find(resource: string): Found | undefined {
    const [kind, ...rest] = resource.split('/');
    const key = rest.join('/');
    const found = (kindOf: Kind, object: ApiObject | undefined): Found | undefined =>
      object && { kind: kindOf, object };
    if (kind === 'service') return found(serviceKind, this.#services.get(key));
    return found(serviceImportKind, this.#imports.get(key)) ?? found(importedServiceKind, this.#seedImports.get(key));
  }

  /** Calls `changed` when something changes that is published. */
  subscribe(changed: () => void): readonly (() => void)[] {
    const ofObject = {
      added: (object: ApiObject) => void (isPublished(object) && changed()),
      updated: (object: ApiObject, old: ApiObject) => void ((isPublished(object) || isPublished(old)) && changed()),
      deleted: (object: ApiObject) => void (isPublished(object) && changed()),
    };
    const slice = (each: EndpointSlice): void => {
      if (sliceOwnersOf(each).some((owner) => this.#isOwnerPublished(owner))) changed();
    };
    const node = (): void => {
      if (this.#readNodes()) changed();
    };
    this.#imports.subscribe(ofObject);
    this.#seedImports.subscribe(ofObject);
    return [
      this.#services.subscribe(ofObject),
      this.#slices.subscribe({ added: slice, updated: slice, deleted: slice }),
      this.#nodes.subscribe({ added: node, updated: node, deleted: node }),
    ];
  }

  #isOwnerPublished(owner: string): boolean {
    const [kind, ...rest] = owner.split('/');
    const key = rest.join('/');
    const objects =
      kind === 'service' ? [this.#services.get(key)] : [this.#imports.get(key), this.#seedImports.get(key)];
    return objects.some((object) => object !== undefined && isPublished(object));
  }

  /** Takes over the nodes if something that is published of them has changed. */
  #readNodes(): boolean {
    const nodes = this.#nodes.list();
    const state = JSON.stringify(
      nodes.map((node) => [
        node.metadata.name,
        nodeAddresses([node], 'private'),
        nodeAddresses([node], 'public'),
        node.spec?.unschedulable,
        (node.status?.conditions ?? []).find(({ type }) => type === 'Ready')?.status,
      ]),
    );
    if (state === this.#nodeState) return false;
    this.#nodeState = state;
    this.#nodeList = nodes;
    return true;
  }
}
