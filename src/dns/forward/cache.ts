import type { Clock, Random } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import type { Name } from '../../dnswire/data.ts';
import { extendedErrors, rcodes } from '../../dnswire/codes.ts';
import type { Question } from '../../dnswire/message.ts';
import { isWithin } from '../../dnswire/name.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { BoundedMap } from './bounded-map.ts';
import type { CacheCounts } from './counters.ts';
import { newCacheCounts } from './counters.ts';
import type { Extract } from './extract.ts';
import type { UpstreamAnswer } from '../resolver.ts';

/** What an answer depends on. */
export interface CacheKey {
  readonly question: Question;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
}

export interface CacheOptions {
  /** Answers kept, of each kind (found, denied or failed); default 10,000. */
  readonly entries?: number;
  /** Memory for each kind, roughly; default 16 MiB. */
  readonly bytes?: number;
  /** Seconds that an answer counts at most; default 3600. */
  readonly maxTtl?: number;
  /** Seconds that a denial counts at most; default 300: somebody may be waiting for the name to appear. */
  readonly maxNegativeTtl?: number;
  /** Seconds that an answer counts at least; default 0. */
  readonly minTtl?: number;
  /** Seconds that an answer past its time is kept for when upstreams fail; default a day, 0: never used. */
  readonly staleFor?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly counts?: CacheCounts;
}

/** TTL of records past their time, and how long until an upstream is asked again after a failure (RFC 8767 §5). */
const staleTtl = 30;
const failureRecheckMs = 30_000;
/** How often an answer must have been used to be renewed before its time is over. */
const popularHits = 3;
/** Failures in a row of one question are kept 1 s, 2 s … up to this (RFC 9520 §3.2). */
const longestFailureMs = 30_000;
/** What an entry and a record take besides their bytes; measured on Node 26, rounded up. */
const entryBytes = 400;
const recordBytes = 150;

interface Entry {
  readonly key: CacheKey;
  readonly answer: UpstreamAnswer;
  readonly kind: Extract['kind'];
  readonly storedAt: number;
  readonly expiresAt: number;
  /** When a popular entry is renewed: the last tenth of its time, spread so that entries do not move together. */
  readonly renewAt: number;
  hits: number;
  /** When an attempt to renew it last failed. */
  failedAt: number;
}

/** What the cache has for a question. `stale`: give it when nothing better comes; `recentlyFailed`: give it at once. */
export type Found =
  | { readonly state: 'fresh'; readonly answer: UpstreamAnswer; readonly wantsRenewal: boolean }
  | { readonly state: 'stale'; readonly answer: UpstreamAnswer; readonly recentlyFailed: boolean }
  | undefined;

/**
 * Answers of upstreams for as long as they count. What is found and what is not are kept apart, so that a flood of
 * names that do not exist pushes out nothing of use.
 */
export class AnswerCache {
  readonly #counts: CacheCounts;
  readonly #found: BoundedMap<Entry>;
  readonly #denied: BoundedMap<Entry>;
  readonly #options: Required<Omit<CacheOptions, 'entries' | 'bytes' | 'counts'>>;

  constructor(options: CacheOptions = {}) {
    const { entries = 10_000, bytes = 16 * 1024 * 1024 } = options;
    this.#options = {
      maxTtl: options.maxTtl ?? 3600,
      maxNegativeTtl: options.maxNegativeTtl ?? 300,
      minTtl: options.minTtl ?? 0,
      staleFor: options.staleFor ?? 86_400,
      clock: options.clock ?? systemClock,
      random: options.random ?? Math.random,
    };
    this.#counts = options.counts ?? newCacheCounts();
    const { evictions } = this.#counts;
    this.#found = new BoundedMap({ entries, bytes, onEvict: () => void evictions.success++ });
    this.#denied = new BoundedMap({ entries, bytes, onEvict: () => void evictions.denial++ });
  }

  /** Answers kept now: found, and denied or failed. */
  get size(): { readonly success: number; readonly denial: number } {
    return { success: this.#found.size, denial: this.#denied.size };
  }

  /** Memory taken, roughly. */
  get bytes(): number {
    return this.#found.bytes + this.#denied.bytes;
  }

  /** What is known for a question; TTLs are what is left of them. */
  find(key: CacheKey): Found {
    const id = idOf(key);
    const now = this.#options.clock.elapsed();
    const denied = this.#denied.get(id);
    // A failure does not hide what was found before it; it only keeps upstreams from being asked.
    const found = this.#found.get(id);
    const entry = denied === undefined || (denied.kind === 'failure' && found !== undefined) ? found : denied;
    if (entry !== undefined && now < entry.expiresAt) return this.#fresh(entry, now);
    if (entry === denied && denied !== undefined && denied.kind === 'negative') this.#denied.delete(id);
    this.#counts.misses += 1;
    if (entry === undefined || entry.kind !== 'positive') return undefined;
    if (now < entry.expiresAt + this.#options.staleFor * 1000) return this.#stale(entry, now);
    this.#found.delete(id);
    return undefined;
  }

  /** Keeps an answer for as long as it counts. A denial replaces what was found, and the other way round. */
  put(key: CacheKey, { answer, kind, ttl }: Extract): void {
    if (kind === 'failure') return this.fail(key, answer);
    const { maxTtl, maxNegativeTtl, minTtl } = this.#options;
    const seconds = Math.min(Math.max(ttl, minTtl), kind === 'positive' ? maxTtl : maxNegativeTtl);
    const id = idOf(key);
    this.#denied.delete(id);
    this.#found.delete(id);
    // Not even for the future, as stale: who says 0 wants to be asked every time. Without a SOA nothing is kept.
    if (seconds <= 0 || (kind === 'negative' && ttl === 0)) return;
    const clamp = (each: number): number => Math.min(Math.max(each, minTtl), seconds);
    this.#keep(id, { key, answer: withTtl(answer, clamp), kind }, seconds * 1000);
  }

  /** Notes that upstreams had no answer, so that they are left alone for a moment (RFC 9520). */
  fail(key: CacheKey, answer: UpstreamAnswer): void {
    const id = idOf(key);
    const now = this.#options.clock.elapsed();
    const found = this.#found.get(id);
    if (found !== undefined) found.failedAt = now;
    const before = this.#denied.get(id);
    const isRepeated = before?.kind === 'failure' && now < before.expiresAt + longestFailureMs;
    const lasted = isRepeated ? before.expiresAt - before.storedAt : 500;
    const problem = { code: extendedErrors.CACHED_ERROR, text: answer.problem?.text ?? 'upstreams failed before' };
    this.#keep(id, { key, answer: { ...answer, problem }, kind: 'failure' }, Math.min(lasted * 2, longestFailureMs));
  }

  /** Forgets a name and all below it; the root: everything. Takes a look at every entry. Returns how many it forgot. */
  purge(name: Name): number {
    let purged = 0;
    for (const map of [this.#found, this.#denied]) {
      for (const [id, { key }] of map.entries()) {
        if (isWithin(key.question.name, name)) purged += Number(map.delete(id));
      }
    }
    return purged;
  }

  #fresh(entry: Entry, now: number): Found {
    this.#counts.hits[entry.kind === 'positive' ? 'success' : 'denial'] += 1;
    entry.hits += 1;
    const wantsRenewal = entry.kind === 'positive' && entry.hits >= popularHits && now >= entry.renewAt;
    if (entry.kind === 'failure') return { state: 'fresh', answer: entry.answer, wantsRenewal };
    return { state: 'fresh', answer: aged(entry.answer, (now - entry.storedAt) / 1000), wantsRenewal };
  }

  #stale(entry: Entry, now: number): Found {
    // Nobody vouches for it any more: its signatures may have run out too.
    const { authentic: _, ...rest } = withTtl(entry.answer, () => staleTtl);
    const answer: UpstreamAnswer = { ...rest, stale: true };
    return { state: 'stale', answer, recentlyFailed: now < entry.failedAt + failureRecheckMs };
  }

  #keep(id: string, what: Pick<Entry, 'key' | 'answer' | 'kind'>, ms: number): void {
    const { clock, random } = this.#options;
    const storedAt = clock.elapsed();
    const renewAt = storedAt + ms * (0.85 + 0.1 * random());
    const entry = { ...what, storedAt, expiresAt: storedAt + ms, renewAt, hits: 0, failedAt: -Infinity };
    (what.kind === 'positive' ? this.#found : this.#denied).set(id, entry, sizeOf(id, what.answer));
  }
}

/** A key as text. The name comes last: nothing in it can be mistaken for another part. */
export const idOf = ({ question, dnssecOk, checkingDisabled }: CacheKey): string =>
  `${question.type} ${question.class} ${Number(dnssecOk)}${Number(checkingDisabled)} ${question.name}`;

function withTtl(answer: UpstreamAnswer, ttlOf: (ttl: number) => number): UpstreamAnswer {
  const change = (records: readonly RawRecord[]): readonly RawRecord[] =>
    records.map((record) => ({ ...record, ttl: ttlOf(record.ttl) }));
  return { ...answer, answers: change(answer.answers), authority: change(answer.authority) };
}

/** A second that has begun is over: nobody downstream keeps a record longer than we do. */
const aged = (answer: UpstreamAnswer, seconds: number): UpstreamAnswer =>
  withTtl(answer, (ttl) => Math.max(0, Math.floor(ttl - seconds)));

function sizeOf(id: string, { answers, authority }: UpstreamAnswer): number {
  const size = (sum: number, { owner, data }: RawRecord): number => sum + recordBytes + owner.length + data.length;
  return authority.reduce(size, answers.reduce(size, entryBytes + 2 * id.length));
}

/** Whether an answer says that upstreams had none. */
export const isFailure = ({ rcode }: UpstreamAnswer): boolean => rcode !== rcodes.NOERROR && rcode !== rcodes.NXDOMAIN;
