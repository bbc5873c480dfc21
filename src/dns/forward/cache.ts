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

/** The properties of a query that its answer depends on. */
export interface CacheKey {
  readonly question: Question;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
}

export interface CacheOptions {
  /** Maximum number of positive answers, and of negative ones and failures; default 10,000. */
  readonly entries?: number;
  /** Approximate memory for each of the two; default 16 MiB. */
  readonly bytes?: number;
  /** Maximum TTL of answers in seconds; default 3600. */
  readonly maxTtl?: number;
  /** Maximum TTL of negative answers in seconds; default 300, since the name may be created soon. */
  readonly maxNegativeTtl?: number;
  /** Minimum TTL of answers in seconds; default 0. */
  readonly minTtl?: number;
  /** Seconds that expired answers are kept for failures of upstreams; default a day, 0: never. */
  readonly staleFor?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly counts?: CacheCounts;
}

/** TTL of stale records, and the time until upstreams are queried again after a failure (RFC 8767 §5). */
const staleTtl = 30;
const failureRecheckMs = 30_000;
/** Cache hits after which an answer is refreshed before it expires. */
const popularHits = 3;
/** Consecutive failures of a query are cached for 1 s, 2 s … up to this (RFC 9520 §3.2). */
const maxFailureMs = 30_000;
/** Overhead of an entry and of a record, measured on Node 26 and rounded up. */
const entryBytes = 400;
const recordBytes = 150;

interface Entry {
  readonly key: CacheKey;
  readonly answer: UpstreamAnswer;
  readonly kind: Extract['kind'];
  readonly storedAt: number;
  readonly expiresAt: number;
  /** When a popular entry is refreshed: in the last tenth of its TTL, with jitter. */
  readonly refreshAt: number;
  hits: number;
  /** When the last attempt to refresh it failed. */
  failedAt: number;
}

/** A cache lookup. `stale`: use it if upstreams fail; `recentlyFailed`: use it without asking them. */
export type Found =
  | { readonly state: 'fresh'; readonly answer: UpstreamAnswer; readonly needsRefresh: boolean }
  | { readonly state: 'stale'; readonly answer: UpstreamAnswer; readonly recentlyFailed: boolean }
  | undefined;

/**
 * Caches upstream answers. Positive and negative answers are kept apart, so that a flood of names that do not exist evicts
 * nothing useful.
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

  /** Number of positive answers, and of negative ones and failures. */
  get size(): { readonly success: number; readonly denial: number } {
    return { success: this.#found.size, denial: this.#denied.size };
  }

  /** Approximate memory. */
  get bytes(): number {
    return this.#found.bytes + this.#denied.bytes;
  }

  /** Looks up a query; TTLs are the remaining ones. */
  find(key: CacheKey): Found {
    const id = idOf(key);
    const now = this.#options.clock.elapsed();
    const denied = this.#denied.get(id);
    // A cached failure does not hide a positive answer; it only avoids queries to upstreams.
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

  /** Stores an answer for its TTL. A negative answer replaces a positive one, and vice versa. */
  put(key: CacheKey, { answer, kind, ttl }: Extract): void {
    if (kind === 'failure') return this.fail(key, answer);
    const { maxTtl, maxNegativeTtl, minTtl } = this.#options;
    const seconds = Math.min(Math.max(ttl, minTtl), kind === 'positive' ? maxTtl : maxNegativeTtl);
    const id = idOf(key);
    this.#denied.delete(id);
    this.#found.delete(id);
    // Answers with TTL 0 are not cached, not even as stale; negative answers without a SOA neither.
    if (seconds <= 0 || (kind === 'negative' && ttl === 0)) return;
    const clamp = (each: number): number => Math.min(Math.max(each, minTtl), seconds);
    this.#store(id, { key, answer: withTtl(answer, clamp), kind }, seconds * 1000);
  }

  /** Caches a failure of all upstreams, so that they are not queried again at once (RFC 9520). */
  fail(key: CacheKey, answer: UpstreamAnswer): void {
    const id = idOf(key);
    const now = this.#options.clock.elapsed();
    const found = this.#found.get(id);
    if (found !== undefined) found.failedAt = now;
    const previous = this.#denied.get(id);
    const isRepeated = previous?.kind === 'failure' && now < previous.expiresAt + maxFailureMs;
    const lasted = isRepeated ? previous.expiresAt - previous.storedAt : 500;
    const problem = {
      code: extendedErrors.CACHED_ERROR,
      text: answer.problem?.text ?? 'cached failure of all upstreams',
    };
    this.#store(id, { key, answer: { ...answer, problem }, kind: 'failure' }, Math.min(lasted * 2, maxFailureMs));
  }

  /** Removes a name and everything below it; the root: everything. Visits all entries; returns the number of removed ones. */
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
    const needsRefresh = entry.kind === 'positive' && entry.hits >= popularHits && now >= entry.refreshAt;
    if (entry.kind === 'failure') return { state: 'fresh', answer: entry.answer, needsRefresh };
    return { state: 'fresh', answer: aged(entry.answer, (now - entry.storedAt) / 1000), needsRefresh };
  }

  #stale(entry: Entry, now: number): Found {
    // No longer authentic: its signatures may have expired.
    const { authentic: _, ...rest } = withTtl(entry.answer, () => staleTtl);
    const answer: UpstreamAnswer = { ...rest, stale: true };
    return { state: 'stale', answer, recentlyFailed: now < entry.failedAt + failureRecheckMs };
  }

  #store(id: string, what: Pick<Entry, 'key' | 'answer' | 'kind'>, ms: number): void {
    const { clock, random } = this.#options;
    const storedAt = clock.elapsed();
    const refreshAt = storedAt + ms * (0.85 + 0.1 * random());
    const entry = { ...what, storedAt, expiresAt: storedAt + ms, refreshAt, hits: 0, failedAt: -Infinity };
    (what.kind === 'positive' ? this.#found : this.#denied).set(id, entry, sizeOf(id, what.answer));
  }
}

/** The key as text. The name is last, so that no part is ambiguous. */
export const idOf = ({ question, dnssecOk, checkingDisabled }: CacheKey): string =>
  `${question.type} ${question.class} ${Number(dnssecOk)}${Number(checkingDisabled)} ${question.name}`;

function withTtl(answer: UpstreamAnswer, ttlOf: (ttl: number) => number): UpstreamAnswer {
  const change = (records: readonly RawRecord[]): readonly RawRecord[] =>
    records.map((record) => ({ ...record, ttl: ttlOf(record.ttl) }));
  return { ...answer, answers: change(answer.answers), authority: change(answer.authority) };
}

/** Rounds the age up, so that no client keeps a record longer than we do. */
const aged = (answer: UpstreamAnswer, seconds: number): UpstreamAnswer =>
  withTtl(answer, (ttl) => Math.max(0, Math.floor(ttl - seconds)));

function sizeOf(id: string, { answers, authority }: UpstreamAnswer): number {
  const size = (sum: number, { owner, data }: RawRecord): number => sum + recordBytes + owner.length + data.length;
  return authority.reduce(size, answers.reduce(size, entryBytes + 2 * id.length));
}

/** Whether an answer is a failure of the upstreams. */
export const isFailure = ({ rcode }: UpstreamAnswer): boolean => rcode !== rcodes.NOERROR && rcode !== rcodes.NXDOMAIN;
