import type { ObjectMeta, OwnerReference } from '../../../api/metadata.ts';
import type { Action, Policy, Preconditions } from '../action.ts';
import { OwnershipGraph } from '../graph.ts';
import type { Identity, Mode } from '../node.ts';
import { modeOf } from '../node.ts';
import type { Given } from './object.ts';
import { lookupWith } from './object.ts';
import { plan } from '../plan.ts';

/** An operation of a user. */
export type Operation =
  | { readonly type: 'delete'; readonly uid: string; readonly policy: Policy }
  | { readonly type: 'release' | 'touch'; readonly uid: string };

/** A foreign finalizer. */
export const hold = 'example.org/hold';

/**
 * A store, a watch per kind and the collector. They advance only when the test calls them, so that it controls
 * the order of events. Writes respect preconditions and finalizers like the server.
 */
export class SimulatedCluster {
  /** UID → object. */
  readonly objects = new Map<string, Given>();
  readonly graph = new OwnershipGraph();
  /** Executed deletions by users: UID → policy. */
  readonly deletedByUsers = new Map<string, Policy>();
  /** Called with each action before the store executes it. */
  onAction: (action: Action) => void = () => undefined;

  /** Kind → undelivered watch events. */
  readonly #watches = new Map<string, (() => readonly string[])[]>();
  readonly #queue = new Set<string>();
  #revision = 0;

  constructor(objects: readonly Given[]) {
    for (const each of objects) this.#write(each);
  }

  /** Delivers all pending watch events. */
  sync(): void {
    for (const watch of this.#watches.values()) while (watch.length > 0) this.#deliver(watch);
  }

  /** The possible next steps, except user operations. */
  moves(): readonly (() => void)[] {
    const watches = [...this.#watches.values()].filter((watch) => watch.length > 0);
    return [
      ...watches.map((watch) => () => this.#deliver(watch)),
      ...Array.from(this.#queue, (uid) => () => this.#reconcile(uid)),
    ];
  }

  operate(operation: Operation): void {
    const target = this.objects.get(operation.uid);
    if (target === undefined) return;
    const { metadata } = target;
    switch (operation.type) {
      case 'touch':
        return this.#write(target);
      case 'release':
        return this.#finalize(target, metadata.finalizers?.filter((finalizer) => finalizer !== hold) ?? []);
      case 'delete':
        if (metadata.deletionTimestamp !== undefined) return undefined;
        this.deletedByUsers.set(operation.uid, operation.policy);
        return this.#delete(target, operation.policy);
    }
  }

  #deliver(watch: (() => readonly string[])[]): void {
    for (const uid of watch.shift()?.() ?? []) this.#queue.add(uid);
  }

  #reconcile(uid: string): void {
    this.#queue.delete(uid);
    const results: Record<string, Mode | 'absent'> = {};
    for (;;) {
      const actions = plan(this.graph, uid, lookupWith(results));
      for (const action of actions) this.#carryOut(uid, action, results);
      if (!actions.some(({ type }) => type === 'lookup')) return;
    }
  }

  #carryOut(uid: string, action: Action, results: Record<string, Mode | 'absent'>): void {
    this.onAction(action);
    switch (action.type) {
      case 'lookup':
        results[action.owner.uid] = this.#lookup(action.owner);
        return;
      case 'delete':
        return this.#ifUnchanged(uid, action.options.preconditions, (target) =>
          this.#delete(target, action.options.propagationPolicy),
        );
      case 'patch-owners':
        return this.#ifUnchanged(uid, action.body.metadata, (target) =>
          this.#write(withOwners(target, action.body.metadata.ownerReferences)),
        );
      case 'remove-finalizer':
        return this.#ifUnchanged(uid, action.body.metadata, (target) =>
          this.#finalize(target, action.body.metadata.finalizers),
        );
      case 'nothing':
        // Looked up again until a watch delivers the owner.
        if (action.because === 'owner-not-observed') this.#queue.add(uid);
        return;
      case 'event':
    }
  }

  #lookup(owner: Identity): Mode | 'absent' {
    const found = this.objects.get(owner.uid);
    if (found !== undefined && isAt(found, owner)) return modeOf(found.metadata);
    for (const uid of this.graph.confirmAbsent(owner)) this.#queue.add(uid);
    return 'absent';
  }

  /** After a conflict the object is planned again; a missing object needs nothing. */
  #ifUnchanged(uid: string, { resourceVersion }: Preconditions, write: (target: Given) => void): void {
    const target = this.objects.get(uid);
    if (target === undefined) return;
    if (target.metadata.resourceVersion === resourceVersion) write(target);
    else this.#queue.add(uid);
  }

  #delete(target: Given, policy: Policy): void {
    const { finalizers = [] } = target.metadata;
    const others = finalizers.filter((finalizer) => finalizer !== 'orphan' && finalizer !== 'foregroundDeletion');
    const own = policy === 'Background' ? [] : [policy === 'Orphan' ? 'orphan' : 'foregroundDeletion'];
    const metadata = { ...target.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    this.#finalize({ ...target, metadata }, [...others, ...own]);
  }

  #finalize(target: Given, finalizers: readonly string[]): void {
    const { uid = '', deletionTimestamp } = target.metadata;
    if (deletionTimestamp === undefined || finalizers.length > 0) {
      return this.#write({ ...target, metadata: { ...target.metadata, finalizers } });
    }
    this.objects.delete(uid);
    this.#watch(target).push(() => this.graph.remove(uid));
  }

  #write(target: Given): void {
    this.#revision += 1;
    const metadata: ObjectMeta = { ...target.metadata, resourceVersion: `${this.#revision}` };
    this.objects.set(metadata.uid ?? '', { ...target, metadata });
    this.#watch(target).push(() => this.graph.observe(target.type, metadata));
  }

  #watch({ type }: Given): (() => readonly string[])[] {
    const watch = this.#watches.get(type.kind) ?? [];
    this.#watches.set(type.kind, watch);
    return watch;
  }
}

const isAt = ({ type, metadata }: Given, place: Identity): boolean =>
  type.kind === place.kind && metadata.name === place.name && (metadata.namespace ?? '') === place.namespace;

const withOwners = (target: Given, ownerReferences: readonly OwnerReference[]): Given => ({
  ...target,
  metadata: { ...target.metadata, ownerReferences },
});
