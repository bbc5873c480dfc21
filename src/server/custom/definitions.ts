import type { Logger } from 'pino';

import { isNotFound } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { isEstablished } from '../../api/kinds/apiextensions/customresourcedefinition/conditions.ts';
import { customResourceDefinitionKind } from '../../api/kinds/apiextensions/customresourcedefinition/kind.ts';
import { isNative } from '../../api/kinds/apiextensions/customresourcedefinition/native.ts';
import { planStatus } from '../../api/kinds/apiextensions/customresourcedefinition/plan.ts';
import type { CustomResourceDefinition } from '../../api/kinds/apiextensions/customresourcedefinition/schema.ts';
import { isServedVersion, servedKinds } from '../../api/kinds/apiextensions/customresourcedefinition/served-kinds.ts';
import { getOrCompute } from '../../api/maps.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Item } from '../cache/item.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { ServerContext } from '../context.ts';
import { ReconcileQueue } from '../lifecycle/reconcile-queue.ts';
import type { CustomKinds } from '../served-resources.ts';
import { updateObject } from '../verbs/update-object.ts';
import { serverRequest } from '../verbs/write-request.ts';
import { GroupNames } from './group-names.ts';
import { terminateDefinition } from './termination.ts';

/** The kinds of an established definition; undefined if the server serves none for it. */
export function customKindsOf(crd: CustomResourceDefinition, own: readonly Kind[]): CustomKinds | undefined {
  if (!isEstablished(crd) || isNative(crd, own)) return undefined;
  const all = servedKinds(crd);
  return all.length === 0 ? undefined : { all, served: all.filter(({ version }) => isServedVersion(crd, version)) };
}

/** All readable definitions in the cache. */
export function* definitionsIn(watchCache: WatchCache): Generator<CustomResourceDefinition, void> {
  const cache = watchCache.of(customResourceDefinitionKind);
  for (const item of cache.range(cache.prefix)) {
    if (item.problem === undefined) yield definitionOf(item);
  }
}

const definitionOf = ({ object }: Item): CustomResourceDefinition => object as CustomResourceDefinition; // of its cache

/** Definitions that are reconciled at once. */
const concurrency = 16;

/** What decides how a definition is served. */
interface Installed {
  readonly spec: CustomResourceDefinition['spec'];
  readonly names: CustomResourceDefinition['status']['acceptedNames'];
}

/**
 * Serves the resources of CustomResourceDefinitions, sets the status of the definitions, and deletes the objects of those
 * that are deleted. Every server does all of it: what they write does not depend on which of them writes.
 */
export class Definitions {
  readonly #context: ServerContext;
  readonly #log: Logger;
  readonly #cache: ResourceCache;
  readonly #watch = new DisposableStack();
  readonly #queue: ReconcileQueue;
  /** name → what is served for it */
  readonly #installed = new Map<string, Installed>();
  readonly #groups = new Map<string, GroupNames>();

  constructor(context: ServerContext) {
    this.#context = context;
    this.#log = context.log.child({ loop: 'definitions' });
    this.#cache = context.watchCache.of(customResourceDefinitionKind);
    this.#queue = new ReconcileQueue({
      reconcile: (name) => this.#reconcile(name),
      concurrency, // the store commits their writes together
      onError: (name, err) =>
        this.#log.warn({ definition: name, err }, 'failed to reconcile a CustomResourceDefinition, retrying'),
    });
    for (const crd of definitionsIn(context.watchCache)) {
      const name = crd.metadata.name ?? '';
      this.#remember(name, crd);
      const kinds = context.resources.custom.get(name);
      if (kinds !== undefined) this.#installed.set(name, partsOf(crd));
    }
  }

  /** Reconciles all definitions, and from then on those that change. */
  start(): void {
    const enqueueAll = (): void => {
      const names = new Set([...this.#installed.keys(), ...this.#names()]);
      for (const name of names) this.#queue.enqueue(name);
    };
    const { prefix } = this.#cache;
    const notify = ({ key }: { readonly key: string }): void => this.#queue.enqueue(key.slice(prefix.length));
    this.#watch.use(this.#cache.watchers.watch(notify, { end: enqueueAll }));
    enqueueAll();
    this.#context.resources.settled = () => this.settled();
  }

  /** Resolves when requests for established definitions are answered. */
  async settled(): Promise<void> {
    await this.#queue.idle();
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#watch.dispose();
    await this.#queue.close();
  }

  #names(): readonly string[] {
    return this.#cache.range(this.#cache.prefix).map(({ key }) => key.slice(this.#cache.prefix.length));
  }

  async #reconcile(name: string): Promise<boolean> {
    const item = this.#cache.get(this.#cache.key('', name));
    if (item === undefined) {
      this.#uninstall(name);
      this.#forget(name);
      return true;
    }
    if (item.problem !== undefined) return true; // its change is an event
    const crd = definitionOf(item);
    if (crd.metadata.deletionTimestamp !== undefined) return this.#terminate(crd);
    const next = this.#planned(crd);
    this.#remember(name, next); // before others that want the same names are planned
    if (isEstablished(next)) await this.#install(name, next);
    if (next === crd) return true;
    await this.#writeStatus(name, (stored) => this.#planned(stored));
    return true;
  }

  #planned(crd: CustomResourceDefinition): CustomResourceDefinition {
    const { clock, resources } = this.#context;
    const name = crd.metadata.name ?? '';
    const taken = this.#group(crd.spec.group).takenFor(name);
    return planStatus(crd, { taken, own: resources.own, now: timestamp(clock()) });
  }

  /** Serves the resource as the definition describes it; the cache of an unchanged one stays. */
  async #install(name: string, crd: CustomResourceDefinition): Promise<void> {
    const parts = partsOf(crd);
    const before = this.#installed.get(name);
    if (before !== undefined && equalJson(before, parts)) return;
    const { watchCache, resources, quotas } = this.#context;
    const kinds = customKindsOf(crd, resources.own);
    if (kinds === undefined) return;
    const storage = kinds.all[0];
    if (storage !== undefined) await watchCache.add(storage);
    resources.set(name, kinds);
    this.#installed.set(name, parts);
    if (storage !== undefined) quotas.recount(storage);
  }

  #uninstall(name: string): void {
    if (!this.#installed.delete(name)) return;
    const { watchCache, resources, quotas } = this.#context;
    const storage = resources.custom.get(name)?.all[0];
    resources.delete(name);
    if (storage === undefined) return;
    watchCache.remove(storage);
    quotas.recount(storage);
  }

  async #terminate(crd: CustomResourceDefinition): Promise<boolean> {
    const name = crd.metadata.name ?? '';
    // Objects of a definition that was changed while no server ran must be readable to be deleted.
    if (isEstablished(crd)) await this.#install(name, crd);
    this.#context.resources.terminate(name);
    return terminateDefinition(this.#context, crd, (change) => this.#writeStatus(name, change));
  }

  async #writeStatus(name: string, change: (crd: CustomResourceDefinition) => CustomResourceDefinition): Promise<void> {
    const resource = { kind: customResourceDefinitionKind, cache: this.#cache };
    try {
      await updateObject(
        this.#context,
        resource,
        serverRequest({ namespace: '', name, subresource: 'status' }),
        { revise: (old) => change(old as CustomResourceDefinition) }, // the object of its cache
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #group(group: string): GroupNames {
    return getOrCompute(this.#groups, group, () => new GroupNames());
  }

  /** Records the names that a definition has; others that wait for a name are reconciled when it is free. */
  #remember(name: string, crd: CustomResourceDefinition): void {
    const names = this.#group(crd.spec.group);
    const before = names.namesOf(name);
    const { acceptedNames } = crd.status;
    names.set(name, acceptedNames, !equalJson(acceptedNames, crd.spec.names));
    if (before !== undefined && !equalJson(before, acceptedNames)) this.#enqueueWaiting(names);
  }

  #forget(name: string): void {
    const group = name.slice(name.indexOf('.') + 1);
    const names = this.#groups.get(group);
    if (names?.delete(name) !== true) return;
    this.#enqueueWaiting(names);
    if (names.isEmpty) this.#groups.delete(group);
  }

  #enqueueWaiting({ waiting }: GroupNames): void {
    for (const name of waiting) this.#queue.enqueue(name);
  }
}

const partsOf = ({ spec, status }: CustomResourceDefinition): Installed => ({ spec, names: status.acceptedNames });
