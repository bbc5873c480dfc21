import { setImmediate, setInterval, setTimeout } from '../../machine/timers.ts';
import type { BodyReply } from '../reply.ts';
import { textReply } from '../reply.ts';
import { ActiveFlows } from './active-flows.ts';
import type { QueueLimits, RejectionReason, Waiter } from './fair-queue.ts';
import { FairQueue } from './fair-queue.ts';
import type { RequestClass } from './classify.ts';
import type { LevelLimits, PriorityLevel, LimitOptions } from './options.ts';
import { levelLimits } from './options.ts';

/** Counters of a priority level since the start, for metrics. */
export interface LevelCounts {
  dispatched: number;
  rejected: Record<RejectionReason, number>;
  waits: WaitHistogram;
}

/** A histogram, in seconds, of the time that queued requests waited. */
export interface WaitHistogram {
  sum: number;
  count: number;
  /** Requests in each bucket of `waitBuckets`, not cumulative. */
  readonly counts: number[];
}

/** The buckets of `WaitHistogram`, in seconds. */
export const waitBuckets = [0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30] as const;

interface Level {
  readonly queue: FairQueue;
  /** Paces the replies to writes: a flow sends few of them in one turn. */
  readonly replies: FairQueue;
  readonly counts: LevelCounts;
}

/** Whether a request may run: at once, or after a wait that may end in a rejection. */
export type Admission = 'admitted' | Promise<'admitted' | RejectionReason>;

/** Shares the server between users: decides which requests run, wait or are rejected. */
export class FlowControl implements Disposable {
  readonly #lanes: Readonly<Record<PriorityLevel, Level>>;
  readonly #activeFlows: ActiveFlows;
  readonly #clock: () => number;
  readonly #inFlight = { mutating: 0, readOnly: 0 };
  readonly #timer: NodeJS.Timeout;

  /** `clock` returns monotonic milliseconds. */
  constructor(options: LimitOptions, activeFlows = new ActiveFlows(), clock: () => number = () => performance.now()) {
    const limits = levelLimits(options);
    this.#activeFlows = activeFlows;
    const level = (name: PriorityLevel): Level => {
      return {
        queue: queueOf(limits[name], activeFlows, limits[name].turnMs),
        replies: queueOf(replyLimits(limits[name]), activeFlows),
        counts: {
          dispatched: 0,
          rejected: { 'queue-full': 0, 'time-out': 0 },
          waits: { sum: 0, count: 0, counts: waitBuckets.map(() => 0) },
        },
      };
    };
    this.#lanes = {
      exempt: level('exempt'),
      leases: level('leases'),
      mutating: level('mutating'),
      readOnly: level('readOnly'),
    };
    this.#clock = clock;
    this.#timer = setInterval(() => this.#expire(options.maxWaitMs), 1000).unref();
  }

  /** Requests seats. An admitted request must call `leave` exactly once. */
  enter(request: RequestClass, cost: number): Admission {
    const { queue, counts } = this.#lanes[request.level];
    this.#activeFlows.record(request.flow);
    if (!queue.enter(request.flow, cost)) return this.#wait(request, cost);
    counts.dispatched++;
    this.#inFlight[request.isMutating ? 'mutating' : 'readOnly']++;
    return 'admitted';
  }

  /**
   * WaitHistogram until the reply to a write may be sent. Many writes become durable at the same moment; replies are spread over turns
   * of the event loop.
   */
  startReply({ level, flow }: RequestClass): 'now' | Promise<void> {
    const { replies } = this.#lanes[level];
    if (replies.enter(flow, 1)) {
      replies.leave(flow, 1);
      return 'now';
    }
    return new Promise((resolve) => {
      const waiter: Waiter = {
        start: () => {
          resolve();
          replies.leave(flow, 1);
        },
        reject: () => resolve(),
      };
      replies.wait(flow, 1, { waiter, now: 0 });
    });
  }

  leave(request: RequestClass, cost: number): void {
    this.#inFlight[request.isMutating ? 'mutating' : 'readOnly']--;
    this.#lanes[request.level].queue.leave(request.flow, cost);
  }

  /** Requests that run. */
  get inFlight(): { readonly mutating: number; readonly readOnly: number } {
    return this.#inFlight;
  }

  /** The priority levels with their counters. */
  *levels(): Generator<LevelCounts & { readonly name: string; readonly seats: number; readonly waiting: number }> {
    for (const [name, { queue, counts }] of Object.entries(this.#lanes)) {
      yield { ...counts, name, seats: queue.seats, waiting: queue.waiting };
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const { queue, replies } of Object.values(this.#lanes)) {
      queue.expire(Infinity);
      replies.expire(Infinity);
    }
  }

  #wait(request: RequestClass, cost: number): Promise<'admitted' | RejectionReason> {
    const { queue, counts } = this.#lanes[request.level];
    const since = this.#clock();
    return new Promise((resolve) => {
      const end = (outcome: 'admitted' | RejectionReason): void => {
        record(counts.waits, (this.#clock() - since) / 1000);
        resolve(outcome);
      };
      const waiter: Waiter = {
        start: () => {
          counts.dispatched++;
          this.#inFlight[request.isMutating ? 'mutating' : 'readOnly']++;
          end('admitted');
        },
        reject: (why) => {
          counts.rejected[why]++;
          end(why);
        },
      };
      queue.wait(request.flow, cost, { waiter, now: since });
    });
  }

  #expire(maxWaitMs: number): void {
    const before = this.#clock() - maxWaitMs;
    for (const { queue } of Object.values(this.#lanes)) queue.expire(before);
  }
}

/** A queue whose turns are those of the event loop, or last `turnMs`. */
function queueOf(limits: QueueLimits, activeFlows: ActiveFlows, turnMs = 0): FairQueue {
  const next = (): void => queue.nextTurn();
  const queue: FairQueue = new FairQueue(limits, {
    scheduleNextTurn: () => void (turnMs > 0 ? setTimeout(next, turnMs) : setImmediate(next)),
    hasOtherFlows: (flow) => activeFlows.hasOtherFlows(flow),
  });
  return queue;
}

/** Unbounded, since running requests bound the number of replies. */
const replyLimits = ({ repliesPerTurn }: LevelLimits): QueueLimits => ({
  seats: Infinity,
  seatsPerFlow: Infinity,
  seatsPerTurn: repliesPerTurn,
  waiting: Infinity,
  waitingPerFlow: Infinity,
});

function record(waits: WaitHistogram, seconds: number): void {
  waits.count++;
  waits.sum += seconds;
  const index = waitBuckets.findIndex((bucket) => seconds <= bucket);
  if (index >= 0) waits.counts[index] = (waits.counts[index] ?? 0) + 1;
}

/** Kubernetes' reply when it is overloaded: clients retry after a second. */
export const tooManyRequests = (): BodyReply =>
  textReply(429, 'Too many requests, please try again later.\n', { 'Retry-After': '1' });
