import type { Logger } from 'pino';
import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { Member } from '../member/member.ts';
import type { BrakeOptions } from './brake.ts';
import { Brake } from './brake.ts';
import type { Failure } from './deliveries.ts';
import { Pace } from './pace.ts';

export interface ChannelOptions {
  readonly member: Member;
  readonly clock: Clock;
  readonly log: Logger;
  readonly windowMs: number;
  readonly brake: BrakeOptions;
  readonly work: (channel: Channel, key: Key, signal: AbortSignal) => Promise<Outcome>;
  readonly onFailure: (channel: Channel, key: Key, failure: Failure) => void;
}

/** Writes to one member at once. */
const workers = 8;

/**
 * The way into one member: a queue of its own with a wait of its own after failures, so that a slow member stalls nobody.
 * It holds a service once, however often it changes meanwhile, and the latest state is what is written.
 */
export class Channel {
  readonly member: Member;
  readonly brake: Brake;
  readonly #pace: Pace;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Key → when a change of it was first seen that is not written yet. */
  readonly #since = new Map<Key, number>();

  constructor({ member, clock, log, windowMs, brake, work, onFailure }: ChannelOptions, signal: AbortSignal) {
    this.member = member;
    this.#clock = clock;
    this.brake = new Brake(clock, brake);
    this.#queue = new WorkQueue({
      work: (key, term) => {
        this.#pace.began(key);
        return work(this, key, term);
      },
      workers,
      clock,
      backoff: { baseMs: 10, maxMs: 30_000 },
      onError: (error, key, failures) => {
        // Another client wrote first: what is planned next starts from that.
        const level = hasStatusCode(error, 409) || failures < 3 ? 'debug' : 'warn';
        log[level]({ cluster: member.id, service: key, failures, err: error }, 'could not write, will try again');
        onFailure(this, key, { failures, error });
      },
    });
    this.#pace = new Pace(this.#queue, windowMs, clock);
    this.#running = this.#queue.run(AbortSignal.any([signal, this.#stop.signal]));
  }

  /** A service needs a look in this member. */
  touch(key: Key): void {
    this.#pace.touch(key);
  }

  /** As `touch`, for a change that is on its way from a source: how long it takes is measured. */
  push(key: Key): void {
    if (!this.#since.has(key)) this.#since.set(key, this.#clock.elapsed());
    this.#pace.touch(key);
  }

  /** How long the changes of a service took that are written now; undefined: there were none. */
  arrived(key: Key): number | undefined {
    const since = this.#since.get(key);
    this.#since.delete(key);
    return since === undefined ? undefined : this.#clock.elapsed() - since;
  }

  /** How long a service has been waited for that is not there yet. */
  waitedMs(key: Key): number {
    const now = this.#clock.elapsed();
    const since = this.#since.get(key) ?? now;
    this.#since.set(key, since);
    return now - since;
  }

  /** Services that wait to be written. */
  get length(): number {
    return this.#queue.length;
  }

  /** Begins nothing new and resolves when what runs is over. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
