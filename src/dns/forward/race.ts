// One question and several upstreams: who is asked when, until one has a useful answer.
import { messageOf } from '../../api/error-message.ts';
import type { Clock, Random } from '../../client/clock.ts';
import { afterPendingReads } from '../../client/clock.ts';
import { flagBits, rcodeName, rcodes, types } from '../../dnswire/codes.ts';
import type { Message } from '../../dnswire/message.ts';
import { rcodeOf } from '../../dnswire/message.ts';
import type { Health } from './choose.ts';
import {
  answered,
  asked,
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

/** Somebody who can be asked; an `Upstream`. */
export interface Contestant {
  readonly name: string;
  health: Health;
  ask(query: UpstreamQuery, signal: AbortSignal): Promise<Message>;
}

/** How a question ended: an answer, or why there is none, with what an upstream said to it if any did. */
export type RaceResult =
  | { readonly message: Message; readonly from: string }
  | {
      readonly message?: Message;
      readonly from?: string;
      readonly problem: string;
      /** Nobody was asked: all upstreams have as many questions as we give them. */
      readonly isBusy: boolean;
    };

export interface RaceOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** When there must be a result; default 4 s: clients give up after 5. */
  readonly deadlineMs?: number;
  /** Which of those that are as good as the best comes first. */
  readonly turn: number;
  /** Told how each try ended: with a response code or without an answer. */
  readonly onTry?: (from: string, rcode: number | undefined, ms: number) => void;
  /** Told when the last try is over, which may be after the result. */
  readonly onOver?: () => void;
}

/** After so long without an answer a try counts as failed; while nobody has won it is waited for all the same. */
const silentMs = 1000;
/** Tries of one question, whatever happens. */
const maxTries = 10;

interface Try {
  readonly contestant: Contestant;
  readonly startedAt: number;
  readonly abort: AbortController;
  isSilent: boolean;
}

/**
 * The best upstream is asked first. When it is silent for longer than it should be, or has no useful answer, the next is
 * asked too, and the first useful answer wins:
 *
 *     a ──────────✗ lost
 *     b      └──────► wins          (hedged after a's p95)
 *
 * Losers are heard out for a second, so that what is known of them is true.
 */
export class Race {
  readonly #query: UpstreamQuery;
  readonly #contestants: readonly Contestant[];
  readonly #options: RaceOptions;
  readonly #order: readonly Contestant[];
  readonly #tries = new Set<Try>();
  readonly #tried = new Set<Contestant>();
  readonly #dropped = new Set<Contestant>();
  readonly #result = Promise.withResolvers<RaceResult>();
  #started = 0;
  #isOver = false;
  /** What the best of the useless answers was. */
  #useless: { readonly message: Message; readonly from: string } | undefined;
  #problem = 'no upstream is left to ask';
  /** Somebody could not be reached, as opposed to had nothing useful to say: worth another round. */
  #hasTrouble = false;
  /** Tries that found no room, of those that were started. */
  #busy = 0;
  #cancelNext: () => void = () => {};
  #cancelDeadline: () => void = () => {};

  constructor(query: UpstreamQuery, contestants: readonly Contestant[], options: RaceOptions) {
    this.#query = query;
    this.#contestants = contestants;
    this.#options = options;
    const healths = contestants.map(({ health }) => health);
    this.#order = rank(healths, options.turn).flatMap((index) => contestants[index] ?? []);
  }

  /** Runs it. Never rejects. */
  run(): Promise<RaceResult> {
    const { clock, deadlineMs = 4000 } = this.#options;
    const giveUp = (): void => this.#lose(`no upstream answered within ${deadlineMs / 1000} s`);
    this.#cancelDeadline = clock.after(deadlineMs, giveUp);
    this.#explore();
    this.#startNext();
    return this.#result.promise;
  }

  /** Ends it without an answer, and every try of it. */
  stop(problem: string): void {
    this.#lose(problem);
    for (const { abort } of this.#tries) abort.abort();
  }

  /** Takes one upstream out of it. */
  drop(contestant: Contestant, problem: string): void {
    this.#dropped.add(contestant);
    this.#problem = problem;
    for (const each of this.#tries) if (each.contestant === contestant) each.abort.abort();
  }

  /** Lets one that nobody asked for long have a copy of the question, for its rank. Its answer is as good as any. */
  #explore(): void {
    const [first] = this.#order;
    const healths = this.#contestants.map(({ health }) => health);
    const at = first === undefined ? -1 : this.#contestants.indexOf(first);
    const index = dueExploration(healths, at, this.#options.clock.elapsed());
    const contestant = index === undefined ? undefined : this.#contestants[index];
    if (contestant !== undefined) this.#start(contestant);
  }

  #startNext(): void {
    if (this.#isOver) return;
    this.#cancelNext();
    const next = this.#next();
    if (next === undefined) return this.#tries.size === 0 ? this.#lose(this.#problem) : undefined;
    const { clock } = this.#options;
    this.#started += 1;
    this.#start(next);
    const wait = this.#allTried()
      ? repeatAfterMs(next.health, Math.ceil(this.#started / this.#contestants.length))
      : hedgeAfterMs(next.health);
    this.#cancelNext = clock.after(wait, () => {
      if (!isDown(next.health)) next.health = late(next.health);
      this.#startNext();
    });
  }

  /** The best that was not asked yet, then all in their order again. */
  #next(): Contestant | undefined {
    const left = this.#order.filter((contestant) => !this.#dropped.has(contestant));
    if (left.length === 0 || this.#started >= maxTries) return undefined;
    return left.find((contestant) => !this.#tried.has(contestant)) ?? left[this.#started % left.length];
  }

  #allTried(): boolean {
    return this.#order.every((contestant) => this.#tried.has(contestant) || this.#dropped.has(contestant));
  }

  #start(contestant: Contestant): void {
    const { clock } = this.#options;
    const startedAt = clock.elapsed();
    const one: Try = { contestant, startedAt, abort: new AbortController(), isSilent: false };
    this.#tried.add(contestant);
    this.#tries.add(one);
    contestant.health = asked(contestant.health, startedAt);
    const cancelSilent = afterPendingReads(clock, silentMs, () => this.#silent(one));
    void this.#run(one).finally(() => {
      cancelSilent();
      this.#tries.delete(one);
      this.#settle();
    }); // #run catches everything
  }

  async #run(one: Try): Promise<void> {
    const { contestant, startedAt, abort } = one;
    try {
      const message = await contestant.ask(this.#query, abort.signal);
      this.#hear(contestant, message, this.#options.clock.elapsed() - startedAt);
    } catch (error) {
      this.#miss(one, error);
    }
  }

  #hear(contestant: Contestant, message: Message, ms: number): void {
    const now = this.#options.clock.elapsed();
    const rcode = rcodeOf(message);
    this.#options.onTry?.(contestant.name, rcode, ms);
    if (isUseful(message)) {
      contestant.health = answered(contestant.health, ms, now);
      this.#end({ message, from: contestant.name });
      return;
    }
    contestant.health = refused(contestant.health, ms, now);
    this.#useless ??= { message, from: contestant.name };
    this.#problem = `${contestant.name} answered ${isReferral(message) ? 'with a referral' : rcodeName(rcode)}`;
  }

  #miss(one: Try, error: unknown): void {
    const { contestant, startedAt, abort } = one;
    if (abort.signal.aborted) return;
    this.#problem = messageOf(error);
    if (isBusy(error)) return void (this.#busy += 1);
    this.#hasTrouble = true;
    this.#fail(contestant, startedAt);
  }

  #silent(one: Try): void {
    one.isSilent = true;
    this.#fail(one.contestant, one.startedAt);
    if (this.#isOver) one.abort.abort();
  }

  #fail(contestant: Contestant, startedAt: number): void {
    const { clock, random, onTry } = this.#options;
    const now = clock.elapsed();
    contestant.health = failed(contestant.health, startedAt, { now, random });
    onTry?.(contestant.name, undefined, now - startedAt);
  }

  /** After a try that did not win: the next at once, or the end if there is nothing to wait for. */
  #settle(): void {
    if (this.#isOver) return this.#tries.size === 0 ? this.#options.onOver?.() : undefined;
    if (!this.#allTried()) return this.#startNext();
    if (this.#tries.size > 0) return;
    const rounds = this.#started / this.#order.length;
    // One that cannot be reached may be restarting: a second round follows by its timer, a third does not.
    if (!this.#hasTrouble || rounds >= 2 || this.#next() === undefined) this.#lose(this.#problem);
  }

  #lose(problem: string): void {
    const isBusyEverywhere = this.#busy > 0 && this.#busy >= this.#started;
    this.#end({ ...this.#useless, problem, isBusy: isBusyEverywhere });
  }

  #end(result: RaceResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelNext();
    this.#cancelDeadline();
    for (const { isSilent, abort } of this.#tries) if (isSilent || 'problem' in result) abort.abort();
    this.#result.resolve(result);
    if (this.#tries.size === 0) this.#options.onOver?.();
  }
}

/** Whether an answer is about the name, and not about the trouble of who gave it. 6: a DNAME made the name too long. */
function isUseful(message: Message): boolean {
  const rcode = rcodeOf(message);
  return (rcode === rcodes.NOERROR && !isReferral(message)) || rcode === rcodes.NXDOMAIN || rcode === 6;
}

/** Whether it only says who else may know: from a server that does not look for answers, which is no use to us. */
function isReferral({ header, answers, authority }: Message): boolean {
  if (answers.length > 0 || (header.flags & (flagBits.RA | flagBits.AA)) !== 0) return false;
  return authority.some(({ type }) => type === types.NS) && !authority.some(({ type }) => type === types.SOA);
}
