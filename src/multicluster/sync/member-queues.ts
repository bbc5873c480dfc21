import type { Logger } from 'pino';
import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { memberErrorLevel } from '../member/error-level.ts';
import type { Member } from '../member/member.ts';

export interface MemberQueuesOptions {
  readonly controller: 'imports' | 'exports';
  readonly clock: Clock;
  readonly log: Logger;
  /** See `coalesceMs` of WorkQueue. */
  readonly windowMs: number;
  readonly reconcile: (member: Member, key: Key, signal: AbortSignal) => Promise<Outcome>;
  /** Called with the number of consecutive failures; the queue retries. */
  readonly onFailure?: (
    member: Member,
    key: Key,
    failure: { readonly failures: number; readonly error: unknown },
  ) => void;
}

/** Concurrent writes to one member. */
const workers = 8;

interface MemberQueue {
  readonly member: Member;
  readonly queue: WorkQueue;
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

/** One work queue of services for each member, so that a slow member does not delay the others. */
export class MemberQueues {
  readonly #options: MemberQueuesOptions;
  /** Member → its queue. */
  readonly #queues = new Map<string, MemberQueue>();

  constructor(options: MemberQueuesOptions) {
    this.#options = options;
  }

  /** The members whose queues are open. */
  get members(): readonly Member[] {
    return Array.from(this.#queues.values(), ({ member }) => member);
  }

  /** Member → services that wait to be reconciled. */
  get lengths(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#queues, ([id, { queue }]) => [id, queue.length]));
  }

  open(member: Member, signal: AbortSignal): void {
    const { controller, clock, log, windowMs, reconcile, onFailure } = this.#options;
    const queue = new WorkQueue({
      work: (key, term) => reconcile(member, key, term),
      workers,
      clock,
      coalesceMs: windowMs,
      backoff: { baseMs: 10, maxMs: 30_000 },
      onError: (error, key, failures) => {
        // Another client wrote first: the retry starts from its state.
        const level = hasStatusCode(error, 409) || failures < 3 ? 'debug' : memberErrorLevel(member, error);
        log[level](
          { controller, cluster: member.id, service: key, failures, err: error },
          'could not reconcile, retrying',
        );
        onFailure?.(member, key, { failures, error });
      },
    });
    const stop = new AbortController();
    const running = queue.run(AbortSignal.any([signal, stop.signal]));
    this.#queues.set(member.id, { member, queue, stop, running });
  }

  /** Enqueues a service in a member; does nothing if its queue is closed. */
  add(id: string, key: Key): void {
    this.#queues.get(id)?.queue.add(key);
  }

  /** Starts no more reconciles in a member, and resolves when those that run have ended. */
  async close(id: string): Promise<void> {
    const queue = this.#queues.get(id);
    this.#queues.delete(id);
    queue?.stop.abort();
    await queue?.running;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#queues.keys()].map((id) => this.close(id)));
  }
}
