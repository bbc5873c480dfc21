import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Name } from '../../client/client.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { ControllerContext } from '../context.ts';
import { logRetry, runController } from '../../client/controller.ts';
import type { Action } from './action.ts';
import { OwnershipGraph } from './graph.ts';
import type { Identity, Mode } from './node.ts';
import { modeOf, placeOf } from './node.ts';
import { plan } from './plan.ts';
import type { Collectable, ServedKinds } from './served-kinds.ts';
import type { Knowledge } from './standing.ts';

/** Collects what has lost its owners, and ends deletions that wait for dependents, until the signal fires. */
export const runGarbageCollector = (
  context: ControllerContext,
  kinds: ServedKinds,
  signal: AbortSignal,
): Promise<void> => new GarbageCollector(context, kinds).run(signal);

/** How long until an object is planned again for which only time tells more. */
const againAfterMs = { 'owner-unseen': 5000, 'unknown-owner-kind': 30_000 } as const;
const incompleteAfterMs = 1000;
/** How long the kinds that cannot be read hold up the others. */
const patienceMs = 30_000;

class GarbageCollector {
  readonly #context: ControllerContext;
  readonly #kinds: ServedKinds;
  readonly #graph = new OwnershipGraph();
  readonly #recorder: EventRecorder;
  /** Its keys are UIDs. */
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
    const enough = { synced: (stop: AbortSignal): Promise<void> => this.#seenEnough(stop) };
    return runController({ queue: this.#queue, caches: [enough], subscribe: () => this.#subscribe() }, signal);
  }

  /**
   * Everything was seen, or it takes so long that one kind may never be. What is deleted then is still deleted because
   * the server says that its owner is gone; only the ends of owners wait, see `remove-finalizer`.
   */
  async #seenEnough(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const late = sleep(systemClock, patienceMs, AbortSignal.any([signal, over.signal]));
    try {
      await Promise.race([this.#kinds.synced(signal), late]);
    } finally {
      over.abort();
    }
    signal.throwIfAborted();
  }

  async #reconcile(uid: Key, signal: AbortSignal): Promise<Outcome> {
    const answers = new Map<string, Mode | 'absent'>();
    const knowledge: Knowledge = {
      scopeOf: (apiVersion, kind) => scopeOf(this.#kinds.named(apiVersion, kind)),
      answerTo: (owner) => answers.get(questionOf(owner)),
    };
    // Each round answers what the one before asked, and an object has so many owners and no more.
    for (;;) {
      const actions = plan(this.#graph, uid, knowledge);
      const questions = actions.flatMap((action) => (action.type === 'ask' ? [action.owner] : []));
      for (const owner of questions) answers.set(questionOf(owner), await this.#lookUp(uid, owner, signal));
      if (questions.length > 0) continue;
      const outcomes = [];
      for (const action of actions) outcomes.push(await this.#carryOut(action, signal));
      return outcomes.find((outcome) => outcome !== undefined);
    }
  }

  async #carryOut(action: Action, signal: AbortSignal): Promise<Outcome> {
    switch (action.type) {
      case 'ask':
        return;
      case 'nothing':
        if (action.because !== 'owner-unseen' && action.because !== 'unknown-owner-kind') return;
        return { requeueAfterMs: againAfterMs[action.because] };
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
        // What is not seen yet may be a dependent that the owner has to wait for, or let go of.
        if (!this.#kinds.isComplete) return { requeueAfterMs: incompleteAfterMs };
        return this.#patch(action.target, action.body, signal);
      case 'patch-owners':
        return this.#patch(action.target, action.body, signal);
    }
  }

  async #patch(target: Identity, body: object, signal: AbortSignal): Promise<void> {
    try {
      await this.#context.client.patch(this.#kindOf(target), nameOf(target), { body, signal });
    } catch (error) {
      // Gone is as good as done.
      if (!hasStatusCode(error, 404)) throw error;
    }
  }

  /** What an owner is by the server itself. */
  async #lookUp(uid: Key, owner: Identity, signal: AbortSignal): Promise<Mode | 'absent'> {
    const found = await this.#context.client.find(this.#kindOf(owner), nameOf(owner), { signal });
    if (found?.metadata.uid === owner.uid) return modeOf(found.metadata);
    // The answer holds for all its dependents; the one that asked is being planned anyway.
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
    const take = ({ metadata }: ApiObject): void => this.#enqueue(this.#graph.observe(type, metadata));
    return cache.subscribe({
      added: take,
      updated: take,
      deleted: ({ metadata: { uid = '' } }) => this.#enqueue(this.#graph.remove(uid)),
    });
  }

  #enqueue(uids: readonly string[]): void {
    for (const uid of uids) this.#queue.add(uid);
  }

  #kindOf({ apiVersion, kind }: Identity): Kind {
    const known = this.#kinds.named(apiVersion, kind);
    if (known === undefined) throw new Error(`bug: ${apiVersion} ${kind} is planned for and not served`);
    return known;
  }
}

const scopeOf = (kind: Kind | undefined): 'Namespaced' | 'Cluster' | undefined => {
  if (kind === undefined) return undefined;
  return kind.namespaced ? 'Namespaced' : 'Cluster';
};

const questionOf = (owner: Identity): string => `${owner.uid}\n${placeOf(owner)}`;

const nameOf = ({ namespace, name }: Identity): Name => ({ namespace: namespace === '' ? undefined : namespace, name });

const aboutOf = ({ namespace, name, uid }: Identity): ApiObject => ({
  metadata: namespace === '' ? { name, uid } : { namespace, name, uid },
});
