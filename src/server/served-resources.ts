import type { Kind } from '../api/kind.ts';
import { getOrCompute } from '../api/maps.ts';
import { compareText } from '../api/order.ts';
import type { ResourceCache } from './cache/resource-cache.ts';
import type { WatchCache } from './cache/watch-cache.ts';

/** A resource with its cache, or a kind whose objects are not stored. */
export type ServedResource =
  | { readonly kind: Kind; readonly cache: ResourceCache }
  | { readonly kind: Kind; readonly cache: undefined };

/** The kinds of a custom resource; the first one stores its objects. */
export interface CustomKinds {
  readonly all: readonly Kind[];
  /** Those of them that answer requests. */
  readonly served: readonly Kind[];
}

/**
 * All kinds that the server serves: its own, and those of CustomResourceDefinitions, which change at run time. Discovery,
 * OpenAPI and the handler read them here for each request.
 */
export class ServedResources {
  readonly #own: readonly Kind[];
  readonly #watchCache: WatchCache;
  /** The name of a definition → its kinds */
  readonly #custom = new Map<string, CustomKinds>();
  /** The names of these definitions, in their order. */
  readonly #order: string[] = [];
  #kinds: readonly Kind[];
  /** group/version/plural → the resource */
  readonly #byPath = new Map<string, ServedResource>();
  /** The kind that stores objects → all served kinds of these objects */
  readonly #byStorage = new Map<Kind, Kind[]>();
  /** Kinds that store objects of definitions that are being deleted */
  readonly #terminating = new Set<Kind>();
  readonly #ownGroups: ReadonlySet<string>;

  constructor(own: readonly Kind[], watchCache: WatchCache) {
    this.#own = own;
    this.#kinds = own;
    this.#ownGroups = new Set(own.map(({ group }) => group));
    this.#watchCache = watchCache;
    for (const kind of own) this.#serve(kind);
  }

  /** Resolves when all definitions that were stored before the call are served. */
  settled: () => Promise<void> = () => Promise.resolve();

  /** All served kinds. A new list after each change, so that documents made from it can be kept with it. */
  get kinds(): readonly Kind[] {
    return (this.#kinds = this.#kinds.length > 0 ? this.#kinds : this.#list());
  }

  /** The kinds of the server itself. */
  get own(): readonly Kind[] {
    return this.#own;
  }

  /** The kinds of all custom resources, by the names of their definitions. */
  get custom(): ReadonlyMap<string, CustomKinds> {
    return this.#custom;
  }

  /** The resource under a path such as `/apis/apps/v1/deployments`. */
  at(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#byPath.get(pathOf({ group, version, plural }));
  }

  /** Whether the server itself serves kinds of the group. */
  isOwnGroup(group: string): boolean {
    return this.#ownGroups.has(group);
  }

  /** The other kinds that serve the same objects: other versions, and for Events another group. */
  equivalents(kind: Kind): readonly Kind[] {
    return (this.#byStorage.get(storageOf(kind)) ?? []).filter((other) => other !== kind);
  }

  /** Serves a custom resource, whose objects are in the cache, instead of what the definition had before. */
  set(definition: string, kinds: CustomKinds): void {
    this.delete(definition);
    this.#custom.set(definition, kinds);
    this.#order.splice(this.#placeOf(definition), 0, definition);
    for (const kind of kinds.served) this.#serve(kind);
    this.#kinds = [];
  }

  /** Whether the definition of a custom resource is being deleted. */
  isTerminating(kind: Kind): boolean {
    return this.#terminating.size > 0 && this.#terminating.has(storageOf(kind));
  }

  /** Accepts no new objects of a custom resource, because its definition is being deleted. */
  terminate(definition: string): void {
    const storage = this.#custom.get(definition)?.all[0];
    if (storage !== undefined) this.#terminating.add(storage);
  }

  /** Serves the custom resource no longer. */
  delete(definition: string): void {
    for (const kind of this.#custom.get(definition)?.served ?? []) {
      this.#byPath.delete(pathOf(kind));
      this.#byStorage.delete(storageOf(kind));
      this.#terminating.delete(storageOf(kind));
    }
    if (this.#custom.delete(definition)) this.#order.splice(this.#placeOf(definition), 1);
    this.#kinds = [];
  }

  #serve(kind: Kind): void {
    const cache = kind.stored ? this.#watchCache.of(kind) : undefined;
    this.#byPath.set(pathOf(kind), { kind, cache });
    getOrCompute(this.#byStorage, storageOf(kind), () => []).push(kind);
  }

  /** Where a definition is in the order of definitions, or would be. */
  #placeOf(definition: string): number {
    let [from, to] = [0, this.#order.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (compareDefinitions(this.#order[middle] ?? '', definition) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** Custom resources are in the order of their names, so that all servers agree. */
  #list(): readonly Kind[] {
    return [...this.#own, ...this.#order.flatMap((definition) => this.#custom.get(definition)?.served ?? [])];
  }
}

/** The group in the name of a definition, `plural.group`: kubectl resolves an ambiguous name to the first group. */
const groupIn = (definition: string): string => definition.slice(definition.indexOf('.') + 1);

const compareDefinitions = (left: string, right: string): number =>
  compareText(groupIn(left), groupIn(right)) || compareText(left, right);

const pathOf = ({ group, version, plural }: Pick<Kind, 'group' | 'version' | 'plural'>): string =>
  `${group}/${version}/${plural}`;

/** The kind in which objects of a served kind are stored. */
const storageOf = (kind: Kind): Kind => kind.storage?.kind ?? kind;
