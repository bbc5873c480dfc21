import { ignoreNotFound } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key, Name } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import type { ControllerContext } from '../context.ts';
import { logRetry, runController } from '../../client/controller.ts';
import type { Action } from './action.ts';
import { OwnershipGraph } from './graph.ts';
import type { Identity, Mode } from './node.ts';
import { modeOf, placeOf } from './node.ts';
import { plan } from './plan.ts';
import type { Collectable, ServedKinds } from './served-kinds.ts';
import type { OwnerLookup } from './classify.ts';

/** Deletes objects whose owners no longer exist, and completes foreground and orphaning deletions. */
export const runGarbageCollector = (
  context: ControllerContext,
  kinds: ServedKinds,
  signal: AbortSignal,
): Promise<void> => new GarbageCollector(context, kinds).run(signal);

/** Delays before an object is planned again without an event. */
const retryDelayMs = { 'owner-not-observed': 5000, 'unknown-owner-kind': 30_000 } as const;
const unsyncedDelayMs = 1000;
/** The longest wait at the start for kinds that cannot be read. */
const syncTimeoutMs = 30_000;

class GarbageCollector {
  readonly #context: ControllerContext;
  readonly #kinds: ServedKinds;
  readonly #graph = new OwnershipGraph();
  readonly #recorder: EventRecorder;
  /** The keys are UIDs. */
  readonly #queue: WorkQueue;

  constructor(context: ControllerContext, kinds: ServedKinds) {
    this.#context = context;
    this.#kinds = kinds;
    this.#recorder = context.recorder('garbage-collector-controller');
    this.#queue = new WorkQueue({
      work: (uid, signal) => this.#reconcile(uid, signal),
      workers: context.options.concurrentGcSyncs ?? 20,
      onError: logRetry(context.log, 'garbage-collector-controller'),
      observer: context.observer('garbage_collector_attempt_to_delete'),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const startup = { synced: (stop: AbortSignal): Promise<void> => this.#syncedOrTimeout(stop) };
    return runController({ queue: this.#queue, caches: [startup], subscribe: () => this.#subscribe() }, signal);
  }

  /**
   * Waits until all kinds have synced, or starts without them after a timeout. Deletions are safe because a lookup confirms
   * that the owner is gone; removing finalizers waits for all kinds, see `remove-finalizer`.
   */
  async #syncedOrTimeout(signal: AbortSignal): Promise<void> {
    const finished = new AbortController();
    const timeout = sleep(systemClock, syncTimeoutMs, AbortSignal.any([signal, finished.signal]));
    try {
      await Promise.race([this.#kinds.synced(signal), timeout]);
    } finally {
      finished.abort();
    }
    signal.throwIfAborted();
  }

  async #reconcile(uid: Key, signal: AbortSignal): Promise<Outcome> {
    const results = new Map<string, Mode | 'absent'>();
    const lookup: OwnerLookup = {
      scopeOf: (apiVersion, kind) => scopeOf(this.#kinds.named(apiVersion, kind)),
      resultFor: (owner) => results.get(lookupKey(owner)),
    };
    // Ends because every round adds lookup results and an object has a limited number of owners.
    for (;;) {
      const actions = plan(this.#graph, uid, lookup);
      const owners = actions.flatMap((action) => (action.type === 'lookup' ? [action.owner] : []));
      for (const owner of owners) results.set(lookupKey(owner), await this.#lookUp(uid, owner, signal));
      if (owners.length > 0) continue;
      const outcomes = [];
      for (const action of actions) outcomes.push(await this.#execute(action, signal));
      return outcomes.find((outcome) => outcome !== undefined);
    }
  }

  async #execute(action: Action, signal: AbortSignal): Promise<Outcome> {
    switch (action.type) {
      case 'lookup':
        return;
      case 'nothing':
        if (action.because !== 'owner-not-observed' && action.because !== 'unknown-owner-kind') return;
        return { requeueAfterMs: retryDelayMs[action.because] };
      case 'event': {
        const { target, reason, message } = action;
        this.#recorder.record(this.#kindOf(target), aboutOf(target), { type: 'Warning', reason, message });
        return;
      }
      case 'delete': {
        const { target, options } = action;
        await this.#context.client.delete(this.#kindOf(target), nameOf(target), { ...options, signal });
        return;
      }
      case 'remove-finalizer':
        // Objects of an unsynced kind may be dependents.
        if (!this.#kinds.isComplete) return { requeueAfterMs: unsyncedDelayMs };
        return this.#patch(action.target, action.body, signal);
      case 'patch-owners':
        return this.#patch(action.target, action.body, signal);
    }
  }

  async #patch(target: Identity, body: object, signal: AbortSignal): Promise<void> {
    await ignoreNotFound(this.#context.client.patch(this.#kindOf(target), nameOf(target), { body, signal }));
  }

  /** Gets an owner from the server. */
  async #lookUp(uid: Key, owner: Identity, signal: AbortSignal): Promise<Mode | 'absent'> {
    const found = await this.#context.client.find(this.#kindOf(owner), nameOf(owner), { signal });
    if (found?.metadata.uid === owner.uid) return modeOf(found.metadata);
    // The result applies to all dependents; `uid` is being planned already.
    this.#enqueue(this.#graph.confirmAbsent(owner).filter((dependent) => dependent !== uid));
    return 'absent';
  }

  #subscribe(): readonly (() => void)[] {
    const stops: (() => void)[] = [];
    stops.push(this.#kinds.subscribe((found) => stops.push(this.#observe(found))));
    return stops;
  }

  #observe({ kind, cache }: Collectable): () => void {
    const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
    const observe = ({ metadata }: ApiObject): void => this.#enqueue(this.#graph.observe(type, metadata));
    return cache.subscribe({
      added: observe,
      updated: observe,
      deleted: ({ metadata: { uid = '' } }) => this.#enqueue(this.#graph.remove(uid)),
    });
  }

  #enqueue(uids: readonly string[]): void {
    for (const uid of uids) this.#queue.add(uid);
  }

  #kindOf({ apiVersion, kind }: Identity): Kind {
    const known = this.#kinds.named(apiVersion, kind);
    if (known === undefined) throw new Error(`bug: ${apiVersion} ${kind} is planned but not served`);
    return known;
  }
}

const scopeOf = (kind: Kind | undefined): 'Namespaced' | 'Cluster' | undefined => {
  if (kind === undefined) return undefined;
  return kind.namespaced ? 'Namespaced' : 'Cluster';
};

const lookupKey = (owner: Identity): string => `${owner.uid}\n${placeOf(owner)}`;

const nameOf = ({ namespace, name }: Identity): Name => ({ namespace: namespace === '' ? undefined : namespace, name });

const aboutOf = ({ namespace, name, uid }: Identity): ApiObject => ({
  metadata: namespace === '' ? { name, uid } : { namespace, name, uid },
});
