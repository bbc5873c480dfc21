import { isDeepStrictEqual } from 'node:util';
import type { Clock, Random } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import type { Name } from '../../dnswire/data.ts';
import { extendedErrors, rcodes, typeName } from '../../dnswire/codes.ts';
import type { Question } from '../../dnswire/message.ts';
import { rcodeOf } from '../../dnswire/message.ts';
import type { CacheKey, CacheOptions, Found } from './cache.ts';
import { AnswerCache, isFailure } from './cache.ts';
import { ForwardCounters } from './counters.ts';
import { extract } from './extract.ts';
import { SingleFlight } from './single-flight.ts';
import { changedZones, UpstreamGroup } from './group.ts';
import { mayBeProbe, HopList } from './loop.ts';
import type { RecursionPolicy } from './policy.ts';
import { Prober } from './prober.ts';
import { isForwardable } from './query.ts';
import { withoutPrivateAddresses } from './rebinding.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import type { Endpoint } from './udp.ts';
import type { UpstreamOptions } from './upstream.ts';
import { endpointName, Upstream } from './upstream.ts';
import type { ResolveOptions, Resolver, UpstreamAnswer } from '../resolver.ts';
import { emptyAnswer } from '../resolver.ts';
import { parentOf } from '../../dnswire/name.ts';

export interface ForwarderOptions {
  /** Default upstreams. */
  readonly upstreams: readonly Endpoint[];
  /** Zone → its upstreams, also for names below it. Without any such names are SERVFAIL. */
  readonly routes?: ReadonlyMap<Name, readonly Endpoint[]>;
  readonly upstream?: Omit<UpstreamOptions, 'clock' | 'counts'>;
  readonly cache?: Omit<CacheOptions, 'clock' | 'random' | 'counts'>;
  /** Clients that may recurse; default all, for callers that check themselves. */
  readonly policy?: RecursionPolicy;
  /** Concurrent queries at upstreams; default 1000. A domain may have a quarter of them. */
  readonly maxInFlight?: number;
  /** Waiting queries of clients, in total and per address; default 10,000 and 256. */
  readonly maxWaiting?: number;
  readonly maxWaitingPerClient?: number;
  /** Deadline for an answer; default 4 s, since clients time out after 5. */
  readonly deadlineMs?: number;
  /** When a stale answer is returned instead of waiting; default 1.8 s (RFC 8767 §5). */
  readonly staleAfterMs?: number;
  /**
   * Removes private and loopback addresses from answers of `upstreams` (DNS rebinding), not from those of zones with upstreams
   * of their own. Default false.
   */
  readonly refusePrivate?: boolean;
  /** Marks queries to detect loops; default true. */
  readonly detectLoops?: boolean;
  /** Default: those of the previous forwarder, or new ones. */
  readonly counters?: ForwardCounters;
  /**
   * The forwarder that this one replaces after a reload: its cache is kept, except for zones with other upstreams now, and its
   * statistics of upstreams. It may continue until it is closed.
   */
  readonly previous?: Forwarder;
  readonly clock?: Clock;
  readonly random?: Random;
}

const noHops = new Uint8Array();

/**
 * Resolves names from the cache, by joining an identical query in flight, or by querying upstreams. UPDATE, NOTIFY and
 * transfers are never forwarded.
 */
export class Forwarder implements Resolver {
  readonly counters: ForwardCounters;
  readonly #options: Omit<ForwarderOptions, 'previous'>;
  readonly #clock: Clock;
  readonly #cache: AnswerCache;
  readonly #hopList = new HopList();
  readonly #prober: Prober;
  readonly #upstreams = new Map<string, Upstream>();
  /** Zone → its upstreams; the root has the default ones. */
  readonly #groups: ReadonlyMap<Name, UpstreamGroup>;
  readonly #inFlight: SingleFlight;
  /** Limits waiting queries. */
  readonly #waiting: ConcurrencyLimiter;
  #isClosed = false;

  constructor({ previous, ...options }: ForwarderOptions) {
    const { clock = systemClock, random = Math.random, deadlineMs = 4000 } = options;
    this.#options = options;
    this.#clock = clock;
    const counters = options.counters ?? previous?.counters ?? new ForwardCounters();
    this.counters = counters;
    const isSameCache = previous !== undefined && isDeepStrictEqual(previous.#options.cache, options.cache);
    const cache = { ...options.cache, clock, random, counts: counters.cache };
    this.#cache = isSameCache ? previous.#cache : new AnswerCache(cache);
    this.#waiting = new ConcurrencyLimiter(options.maxWaiting ?? 10_000, options.maxWaitingPerClient ?? 256);
    this.#inFlight = new SingleFlight(options.maxInFlight ?? 1000);
    const prober = new Prober({ clock, random, onLoop: (upstream) => this.#foundLoop(upstream) });
    this.#prober = prober;
    const groupOf = (endpoints: readonly Endpoint[]): UpstreamGroup =>
      new UpstreamGroup(
        endpoints.map((each) => this.#upstream(each)),
        { clock, random, deadlineMs, counters, prober },
      );
    const all = options.upstreams.length === 0 ? [] : [['', options.upstreams] as const];
    const routes = [...all, ...(options.routes ?? [])];
    this.#groups = new Map(routes.map(([zone, endpoints]) => [zone, groupOf(endpoints)]));
    if (previous !== undefined) this.#inherit(previous, isSameCache);
  }

  /** All upstreams. */
  get upstreams(): readonly Upstream[] {
    return [...this.#upstreams.values()];
  }

  /** Number of queries at upstreams. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  get cacheSize(): AnswerCache['size'] {
    return this.#cache.size;
  }

  /** Resolves a question. Never rejects: a failure is a response code with a `problem`. */
  async resolve(question: Question, options: ResolveOptions): Promise<UpstreamAnswer> {
    const refusal = this.#refuse(question, options);
    if (refusal !== undefined) return refusal;
    const answer = await this.#find(question, options);
    const isOfDefaultUpstream = routeFor(this.#groups, question.name) === this.#groups.get('');
    if (this.#options.refusePrivate !== true || !isOfDefaultUpstream) return answer;
    const rest = withoutPrivateAddresses(answer);
    if (rest !== answer) this.counters.privateAnswers += 1;
    return rest;
  }

  async #find(question: Question, options: ResolveOptions): Promise<UpstreamAnswer> {
    const { dnssecOk, checkingDisabled } = options;
    const key = { question, dnssecOk, checkingDisabled };
    const found = this.#cache.find(key);
    if (found?.state === 'fresh') {
      if (found.needsRefresh) this.#refresh(key);
      return found.answer;
    }
    if (found?.recentlyFailed === true) return this.#stale(found.answer);
    return await this.#resolveAtUpstream(key, options, found);
  }

  /** Removes a name and everything below it from the cache; returns the number of answers. */
  purge(name: Name): number {
    return this.#cache.purge(name);
  }

  /** Ends queries in flight with SERVFAIL; resolves when all have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#prober.close();
    for (const group of this.#groups.values()) group.close();
    await this.#inFlight.settled();
    for (const upstream of this.#upstreams.values()) upstream.close();
  }

  #inherit(previous: Forwarder, isSameCache: boolean): void {
    for (const [name, { health }] of previous.#upstreams) {
      const upstream = this.#upstreams.get(name);
      if (upstream !== undefined) upstream.health = health;
    }
    if (isSameCache) for (const zone of changedZones(previous.#groups, this.#groups)) this.#cache.purge(zone);
  }

  #upstream(endpoint: Endpoint): Upstream {
    const name = endpointName(endpoint);
    let upstream = this.#upstreams.get(name);
    if (upstream === undefined) {
      const counts = this.counters.upstream(name);
      upstream = new Upstream(endpoint, { ...this.#options.upstream, clock: this.#clock, counts });
      this.#upstreams.set(name, upstream);
    }
    return upstream;
  }

  /** Refusals without a lookup. */
  #refuse(question: Question, { client, hops = noHops }: ResolveOptions): UpstreamAnswer | undefined {
    const { refused } = this.counters;
    if (this.#isClosed) return failure('the server is stopping', extendedErrors.NOT_READY);
    if (client !== undefined && this.#options.policy?.isAllowed(client.address) === false) {
      refused.stranger += 1;
      return refusal(`${client.address} may not recurse`, extendedErrors.PROHIBITED);
    }
    if (!isForwardable(question)) {
      refused.kind += 1;
      return refusal(`${typeName(question.type)} is not forwarded`, extendedErrors.NOT_SUPPORTED);
    }
    if (routeFor(this.#groups, question.name) === undefined) {
      refused.kind += 1;
      return refusal('no upstream is configured for this name', extendedErrors.NOT_AUTHORITATIVE);
    }
    const isProbe = mayBeProbe(question.name) && this.#prober.detectLoop(question.name);
    if (!isProbe && !this.#hopList.isLoop(hops)) return undefined;
    this.counters.loops += 1;
    return failure('forwarding loop: this server sent the query', extendedErrors.OTHER);
  }

  async #resolveAtUpstream(key: CacheKey, options: ResolveOptions, found: Found): Promise<UpstreamAnswer> {
    const stale = found?.state === 'stale' ? found.answer : undefined;
    const { client } = options;
    const rejection = this.#acquireSlot(client?.address);
    if (rejection !== undefined) return stale === undefined ? rejection : this.#stale(stale);
    try {
      const fetch = this.#join(key, options.hops ?? noHops);
      if (fetch === undefined) {
        return stale === undefined ? failure('too many queries in flight', extendedErrors.OTHER) : this.#stale(stale);
      }
      if (stale === undefined) return await fetch;
      const answer = await this.#within(fetch, this.#options.staleAfterMs ?? 1800);
      return answer === undefined || isFailure(answer) ? this.#stale(stale) : answer;
    } finally {
      if (client !== undefined) this.#waiting.release(client.address);
    }
  }

  /** Acquires a slot for a client; returns the refusal if there is none. */
  #acquireSlot(address: string | undefined): UpstreamAnswer | undefined {
    if (address === undefined) return undefined;
    const { refused } = this.counters;
    if (this.#options.policy?.spend(address) === false) {
      refused.rate += 1;
      return refusal(`${address} exceeds its query rate`, extendedErrors.PROHIBITED);
    }
    const slot = this.#waiting.acquire(address);
    if (slot === 'acquired') return undefined;
    refused[slot === 'key-full' ? 'client' : 'overload'] += 1;
    return slot === 'key-full'
      ? refusal(`${address} has too many queries in flight`, extendedErrors.PROHIBITED)
      : failure('too many queries in flight', extendedErrors.OTHER);
  }

  /** The answer of an identical query in flight, or of a new one; undefined at the limit. */
  #join(key: CacheKey, hops: Uint8Array): Promise<UpstreamAnswer> | undefined {
    const joined = this.#inFlight.join(key, () =>
      this.#fetch(key, hops).catch((error: unknown) => failure(`bug: ${String(error)}`, extendedErrors.OTHER)),
    );
    if (joined.state === 'joined') this.counters.coalesced += 1;
    if (joined.state === 'full') this.counters.refused.overload += 1;
    if (joined.state === 'key-full') this.counters.refused.domain += 1;
    return joined.answer;
  }

  /** Refreshes a popular answer before it expires. */
  #refresh(key: CacheKey): void {
    // No client waits for it: it must not take slots from others.
    if (this.#inFlight.has(key) || this.#inFlight.size * 2 >= this.#inFlight.limit) return;
    this.counters.cache.prefetches += 1;
    void this.#join(key, noHops); // never rejects
  }

  async #fetch(key: CacheKey, hops: Uint8Array): Promise<UpstreamAnswer> {
    const group = routeFor(this.#groups, key.question.name);
    if (group === undefined) return failure('no upstream is configured', extendedErrors.OTHER);
    const marked = this.#options.detectLoops === false ? noHops : this.#hopList.extend(hops);
    const result = await group.ask({ ...key, hops: marked });
    if ('problem' in result) {
      const upstreamRcode = result.message === undefined ? rcodes.SERVFAIL : rcodeOf(result.message);
      // A referral has NOERROR, but is a failure.
      const rcode = upstreamRcode === rcodes.NOERROR ? rcodes.SERVFAIL : upstreamRcode;
      const answer = emptyAnswer(rcode, { code: extendedErrors.NO_REACHABLE_AUTHORITY, text: result.problem });
      // Our own limits are not a failure of the query.
      if (result.isBusy) this.counters.refused.overload += 1;
      else if (!this.#isClosed) this.#cache.fail(key, answer);
      return answer;
    }
    const extracted = extract(key.question, result.message);
    this.#cache.put(key, extracted);
    return extracted.answer;
  }

  /** The answer, or undefined after a timeout. */
  async #within(fetch: Promise<UpstreamAnswer>, ms: number): Promise<UpstreamAnswer | undefined> {
    let cancel = (): void => {};
    const late = new Promise<undefined>((resolve) => (cancel = this.#clock.after(ms, () => resolve(undefined))));
    try {
      return await Promise.race([fetch, late]);
    } finally {
      cancel();
    }
  }

  #stale(answer: UpstreamAnswer): UpstreamAnswer {
    this.counters.cache.servedStale += 1;
    return answer;
  }

  #foundLoop(upstream: Upstream): void {
    for (const group of this.#groups.values()) group.drop(upstream);
  }
}

const refusal = (text: string, code: number): UpstreamAnswer => emptyAnswer(rcodes.REFUSED, { code, text });
const failure = (text: string, code: number): UpstreamAnswer => emptyAnswer(rcodes.SERVFAIL, { code, text });

/** The value of the innermost zone of a name; undefined if it is in none. One lookup per label. */
function routeFor<T>(routes: ReadonlyMap<Name, T>, name: Name): T | undefined {
  for (let zone: Name | undefined = name; zone !== undefined; zone = parentOf(zone)) {
    const route = routes.get(zone);
    if (route !== undefined) return route;
  }
  return undefined;
}
