// Sends a query to several upstreams, one after another, until one returns a useful answer.
import { messageOf } from '../../api/error-message.ts';
import type { Clock, Random } from '../../client/clock.ts';
import { afterPendingReads } from '../../client/clock.ts';
import { flagBits, rcodeName, rcodes, types } from '../../dnswire/codes.ts';
import type { Message } from '../../dnswire/message.ts';
import { rcodeOf } from '../../dnswire/message.ts';
import type { Health } from './choose.ts';
import {
  answered,
  withQuery,
  dueExploration,
  failed,
  hedgeAfterMs,
  isDown,
  late,
  rank,
  refused,
  repeatAfterMs,
} from './choose.ts';
import { isBusy } from './errors.ts';
import type { UpstreamQuery } from './query.ts';

/** The part of `Upstream` that a race needs. */
export interface RaceUpstream {
  readonly name: string;
  health: Health;
  ask(query: UpstreamQuery, signal: AbortSignal): Promise<Message>;
}

/** The result of a query: an answer, or a problem with the last useless answer, if any. */
export type RaceResult =
  | { readonly message: Message; readonly from: string }
  | {
      readonly message?: Message;
      readonly from?: string;
      readonly problem: string;
      /** No upstream was queried: all have too many queries. */
      readonly isBusy: boolean;
    };

export interface RaceOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Deadline of the result; default 4 s, since clients time out after 5. */
  readonly deadlineMs?: number;
  /** Rotates upstreams that are about as good as the best. */
  readonly turn: number;
  /** Called after each attempt, with the response code or undefined without an answer. */
  readonly onAttempt?: (from: string, rcode: number | undefined, ms: number) => void;
  /** Called when the last attempt has ended, possibly after the result. */
  readonly onOver?: () => void;
}

/** An attempt without an answer for this long counts as failed; its answer is still used if none came before. */
const attemptTimeoutMs = 1000;
/** Maximum number of attempts per query. */
const maxAttempts = 10;

interface Attempt {
  readonly upstream: RaceUpstream;
  readonly startedAt: number;
  readonly abort: AbortController;
  hasTimedOut: boolean;
}

/**
 * The best upstream is queried first. If it does not answer within its hedging delay or has no useful answer, the next one is
 * queried too, and the first useful answer wins:
 *
 *     a ──────────✗ no answer
 *     b      └──────► answer        (hedged after a's p95)
 *
 * Slower upstreams may still answer for a second, which keeps their statistics accurate.
 */
export class Race {
  readonly #query: UpstreamQuery;
  readonly #upstreams: readonly RaceUpstream[];
  readonly #options: RaceOptions;
  readonly #order: readonly RaceUpstream[];
  readonly #attempts = new Set<Attempt>();
  readonly #attempted = new Set<RaceUpstream>();
  readonly #dropped = new Set<RaceUpstream>();
  readonly #result = Promise.withResolvers<RaceResult>();
  #started = 0;
  #isOver = false;
  /** The first useless answer. */
  #uselessAnswer: { readonly message: Message; readonly from: string } | undefined;
  #problem = 'no upstream is left';
  /** Whether an upstream was unreachable, which is worth a second round, rather than useless. */
  #hasNetworkError = false;
  /** Number of attempts that an upstream's limit rejected. */
  #busy = 0;
  #cancelNext: () => void = () => {};
  #cancelDeadline: () => void = () => {};

  constructor(query: UpstreamQuery, upstreams: readonly RaceUpstream[], options: RaceOptions) {
    this.#query = query;
    this.#upstreams = upstreams;
    this.#options = options;
    const healths = upstreams.map(({ health }) => health);
    this.#order = rank(healths, options.turn).flatMap((index) => upstreams[index] ?? []);
  }

  /** Runs the race. Never rejects. */
  run(): Promise<RaceResult> {
    const { clock, deadlineMs = 4000 } = this.#options;
    const onDeadline = (): void => this.#finishWithProblem(`no upstream answered within ${deadlineMs / 1000} s`);
    this.#cancelDeadline = clock.after(deadlineMs, onDeadline);
    this.#explore();
    this.#startNext();
    return this.#result.promise;
  }

  /** Ends the race and all attempts without an answer. */
  stop(problem: string): void {
    this.#finishWithProblem(problem);
    for (const { abort } of this.#attempts) abort.abort();
  }

  /** Removes an upstream. */
  drop(upstream: RaceUpstream, problem: string): void {
    this.#dropped.add(upstream);
    this.#problem = problem;
    for (const each of this.#attempts) if (each.upstream === upstream) each.abort.abort();
  }

  /** Sends a copy of the query to an upstream without recent queries, to update its rank. Its answer counts too. */
  #explore(): void {
    const [first] = this.#order;
    const healths = this.#upstreams.map(({ health }) => health);
    const at = first === undefined ? -1 : this.#upstreams.indexOf(first);
    const index = dueExploration(healths, at, this.#options.clock.elapsed());
    const upstream = index === undefined ? undefined : this.#upstreams[index];
    if (upstream !== undefined) this.#start(upstream);
  }

  #startNext(): void {
    if (this.#isOver) return;
    this.#cancelNext();
    const next = this.#next();
    if (next === undefined) return this.#attempts.size === 0 ? this.#finishWithProblem(this.#problem) : undefined;
    const { clock } = this.#options;
    this.#started += 1;
    this.#start(next);
    const wait = this.#allAttempted()
      ? repeatAfterMs(next.health, Math.ceil(this.#started / this.#upstreams.length))
      : hedgeAfterMs(next.health);
    this.#cancelNext = clock.after(wait, () => {
      if (!isDown(next.health)) next.health = late(next.health);
      this.#startNext();
    });
  }

  /** The best upstream without an attempt, then all again in their order. */
  #next(): RaceUpstream | undefined {
    const left = this.#order.filter((upstream) => !this.#dropped.has(upstream));
    if (left.length === 0 || this.#started >= maxAttempts) return undefined;
    return left.find((upstream) => !this.#attempted.has(upstream)) ?? left[this.#started % left.length];
  }

  #allAttempted(): boolean {
    return this.#order.every((upstream) => this.#attempted.has(upstream) || this.#dropped.has(upstream));
  }

  #start(upstream: RaceUpstream): void {
    const { clock } = this.#options;
    const startedAt = clock.elapsed();
    const one: Attempt = { upstream, startedAt, abort: new AbortController(), hasTimedOut: false };
    this.#attempted.add(upstream);
    this.#attempts.add(one);
    upstream.health = withQuery(upstream.health, startedAt);
    const cancelTimeout = afterPendingReads(clock, attemptTimeoutMs, () => this.#onTimeout(one));
    void this.#run(one).finally(() => {
      cancelTimeout();
      this.#attempts.delete(one);
      this.#settle();
    }); // #run catches everything
  }

  async #run(one: Attempt): Promise<void> {
    const { upstream, startedAt, abort } = one;
    try {
      const message = await upstream.ask(this.#query, abort.signal);
      this.#onAnswer(upstream, message, this.#options.clock.elapsed() - startedAt);
    } catch (error) {
      this.#onError(one, error);
    }
  }

  #onAnswer(upstream: RaceUpstream, message: Message, ms: number): void {
    const now = this.#options.clock.elapsed();
    const rcode = rcodeOf(message);
    this.#options.onAttempt?.(upstream.name, rcode, ms);
    if (isUseful(message)) {
      upstream.health = answered(upstream.health, ms, now);
      this.#end({ message, from: upstream.name });
      return;
    }
    upstream.health = refused(upstream.health, ms, now);
    this.#uselessAnswer ??= { message, from: upstream.name };
    this.#problem = `${upstream.name} answered ${isReferral(message) ? 'with a referral' : rcodeName(rcode)}`;
  }

  #onError(one: Attempt, error: unknown): void {
    const { upstream, startedAt, abort } = one;
    if (abort.signal.aborted) return;
    this.#problem = messageOf(error);
    if (isBusy(error)) return void (this.#busy += 1);
    this.#hasNetworkError = true;
    this.#fail(upstream, startedAt);
  }

  #onTimeout(one: Attempt): void {
    one.hasTimedOut = true;
    this.#fail(one.upstream, one.startedAt);
    if (this.#isOver) one.abort.abort();
  }

  #fail(upstream: RaceUpstream, startedAt: number): void {
    const { clock, random, onAttempt } = this.#options;
    const now = clock.elapsed();
    upstream.health = failed(upstream.health, startedAt, { now, random });
    onAttempt?.(upstream.name, undefined, now - startedAt);
  }

  /** After an attempt without a useful answer: starts the next one, or ends the race if none is pending. */
  #settle(): void {
    if (this.#isOver) return this.#attempts.size === 0 ? this.#options.onOver?.() : undefined;
    if (!this.#allAttempted()) return this.#startNext();
    if (this.#attempts.size > 0) return;
    const rounds = this.#started / this.#order.length;
    // An unreachable upstream may be restarting: a second round follows by timer, a third does not.
    if (!this.#hasNetworkError || rounds >= 2 || this.#next() === undefined) this.#finishWithProblem(this.#problem);
  }

  #finishWithProblem(problem: string): void {
    const isBusyEverywhere = this.#busy > 0 && this.#busy >= this.#started;
    this.#end({ ...this.#uselessAnswer, problem, isBusy: isBusyEverywhere });
  }

  #end(result: RaceResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelNext();
    this.#cancelDeadline();
    for (const { hasTimedOut, abort } of this.#attempts) if (hasTimedOut || 'problem' in result) abort.abort();
    this.#result.resolve(result);
    if (this.#attempts.size === 0) this.#options.onOver?.();
  }
}

/** Whether an answer is about the name rather than the upstream. 6: a DNAME made the name too long. */
function isUseful(message: Message): boolean {
  const rcode = rcodeOf(message);
  return (rcode === rcodes.NOERROR && !isReferral(message)) || rcode === rcodes.NXDOMAIN || rcode === 6;
}

/** Whether an answer is a referral, from a server that does not recurse. */
function isReferral({ header, answers, authority }: Message): boolean {
  if (answers.length > 0 || (header.flags & (flagBits.RA | flagBits.AA)) !== 0) return false;
  return authority.some(({ type }) => type === types.NS) && !authority.some(({ type }) => type === types.SOA);
}
