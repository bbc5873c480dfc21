import { setImmediate, setInterval, setTimeout } from '../../machine/timers.ts';
import type { BodyReply } from '../reply.ts';
import { textReply } from '../reply.ts';
import { ActiveFlows } from './active-flows.ts';
import type { QueueLimits, Refusal, Waiter } from './fair-queue.ts';
import { FairQueue } from './fair-queue.ts';
import type { Classified } from './classify.ts';
import type { LevelLimits, PriorityLevel, LimitOptions } from './options.ts';
import { levelLimits } from './options.ts';

/** What has happened in a lane since the start, for metrics. */
export interface LevelCounts {
  dispatched: number;
  refused: Record<Refusal, number>;
  waits: Waits;
}

/** How long requests waited that did not run at once: a histogram, in seconds. */
export interface Waits {
  sum: number;
  count: number;
  /** How many waited at most as long as the bucket of the same place says, and longer than the one before. */
  readonly counts: number[];
}

/** The buckets of `Waits`, in seconds. */
export const waitBuckets = [0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30] as const;

interface Level {
  readonly queue: FairQueue;
  /** Answers that go out: few of a flow in a turn, unless the lane has no turns. */
  readonly answers: FairQueue;
  readonly counts: LevelCounts;
}

/** Whether a request runs: at once, or after a wait that may end in a refusal. */
export type Entry = 'admitted' | Promise<'admitted' | Refusal>;

/** Shares the server between users: who may run, who waits, who is told to come back. */
export class FlowControl implements Disposable {
  readonly #lanes: Readonly<Record<PriorityLevel, Level>>;
  readonly #company: ActiveFlows;
  readonly #clock: () => number;
  readonly #inFlight = { mutating: 0, readOnly: 0 };
  readonly #timer: NodeJS.Timeout;

  /** `clock` is in milliseconds and never goes back. */
  constructor(options: LimitOptions, company = new ActiveFlows(), clock: () => number = () => performance.now()) {
    const limits = levelLimits(options);
    this.#company = company;
    const lane = (name: PriorityLevel): Level => {
      return {
        queue: queueOf(limits[name], company, limits[name].turnMs),
        answers: queueOf(answerLimits(limits[name]), company),
        counts: {
          dispatched: 0,
          refused: { 'queue-full': 0, 'time-out': 0 },
          waits: { sum: 0, count: 0, counts: waitBuckets.map(() => 0) },
        },
      };
    };
    this.#lanes = {
      exempt: lane('exempt'),
      leases: lane('leases'),
      mutating: lane('mutating'),
      readOnly: lane('readOnly'),
    };
    this.#clock = clock;
    this.#timer = setInterval(() => this.#expire(options.maxWaitMs), 1000).unref();
  }

  /** A request wants to run. Once admitted it must `leave` exactly once. */
  enter(request: Classified, cost: number): Entry {
    const { queue, counts } = this.#lanes[request.level];
    this.#company.record(request.flow);
    if (!queue.enter(request.flow, cost)) return this.#wait(request, cost);
    counts.dispatched++;
    this.#inFlight[request.isMutating ? 'mutating' : 'readOnly']++;
    return 'admitted';
  }

  /**
   * An answer is ready. Many writes become durable at the same moment; what is then done for each of them is spread over
   * turns of the event loop too.
   */
  answer({ level, flow }: Classified): 'now' | Promise<void> {
    const { answers } = this.#lanes[level];
    if (answers.enter(flow, 1)) {
      answers.leave(flow, 1);
      return 'now';
    }
    return new Promise((resolve) => {
      const waiter: Waiter = {
        start: () => {
          resolve();
          answers.leave(flow, 1);
        },
        refuse: () => resolve(),
      };
      answers.wait(flow, 1, { waiter, now: 0 });
    });
  }

  leave(request: Classified, cost: number): void {
    this.#inFlight[request.isMutating ? 'mutating' : 'readOnly']--;
    this.#lanes[request.level].queue.leave(request.flow, cost);
  }

  /** Requests under way. */
  get inFlight(): { readonly mutating: number; readonly readOnly: number } {
    return this.#inFlight;
  }

  /** The lanes and what has happened in them. */
  *levels(): Generator<LevelCounts & { readonly name: string; readonly seats: number; readonly waiting: number }> {
    for (const [name, { queue, counts }] of Object.entries(this.#lanes)) {
      yield { ...counts, name, seats: queue.seats, waiting: queue.waiting };
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const { queue, answers } of Object.values(this.#lanes)) {
      queue.expire(Infinity);
      answers.expire(Infinity);
    }
  }

  #wait(request: Classified, cost: number): Promise<'admitted' | Refusal> {
    const { queue, counts } = this.#lanes[request.level];
    const since = this.#clock();
    return new Promise((resolve) => {
      const end = (outcome: 'admitted' | Refusal): void => {
        record(counts.waits, (this.#clock() - since) / 1000);
        resolve(outcome);
      };
      const waiter: Waiter = {
        start: () => {
          counts.dispatched++;
          this.#inFlight[request.isMutating ? 'mutating' : 'readOnly']++;
          end('admitted');
        },
        refuse: (why) => {
          counts.refused[why]++;
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

/** A queue whose turns are those of the event loop, or take some milliseconds. */
function queueOf(limits: QueueLimits, company: ActiveFlows, turnMs = 0): FairQueue {
  const next = (): void => queue.nextTurn();
  const queue: FairQueue = new FairQueue(limits, {
    onTurn: () => void (turnMs > 0 ? setTimeout(next, turnMs) : setImmediate(next)),
    isAlone: (flow) => company.isAlone(flow),
  });
  return queue;
}

/** How many wait is bounded by how many requests are under way. */
const answerLimits = ({ answersPerTurn }: LevelLimits): QueueLimits => ({
  seats: Infinity,
  seatsPerFlow: Infinity,
  seatsPerTurn: answersPerTurn,
  waiting: Infinity,
  waitingPerFlow: Infinity,
});

function record(waits: Waits, seconds: number): void {
  waits.count++;
  waits.sum += seconds;
  const index = waitBuckets.findIndex((bucket) => seconds <= bucket);
  if (index >= 0) waits.counts[index] = (waits.counts[index] ?? 0) + 1;
}

/** Kubernetes' answer when it has too much to do: clients wait a second and come back. */
export const tooManyRequests = (): BodyReply =>
  textReply(429, 'Too many requests, please try again later.\n', { 'Retry-After': '1' });
