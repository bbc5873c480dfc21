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
import { Fetches } from './fetches.ts';
import { changedZones, UpstreamGroup } from './group.ts';
import { mayBeProbe, Trail } from './loop.ts';
import type { RecursionPolicy } from './policy.ts';
import { Prober } from './prober.ts';
import { isForwardable } from './query.ts';
import { withoutPrivateAddresses } from './rebinding.ts';
import { routeFor } from './routes.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import type { Endpoint } from './udp.ts';
import type { UpstreamOptions } from './upstream.ts';
import { endpointName, Upstream } from './upstream.ts';
import type { ResolveOptions, Resolver, UpstreamAnswer } from '../resolver.ts';
import { emptyAnswer } from '../resolver.ts';

export interface ForwarderOptions {
  /** Whom to ask for everything that has no route of its own. */
  readonly upstreams: readonly Endpoint[];
  /** Zone → whom to ask for it and all below. None at all: such names are answered SERVFAIL. */
  readonly routes?: ReadonlyMap<Name, readonly Endpoint[]>;
  readonly upstream?: Omit<UpstreamOptions, 'clock' | 'counts'>;
  readonly cache?: Omit<CacheOptions, 'clock' | 'random' | 'counts'>;
  /** Who may ask; default everybody, so that who calls has decided. */
  readonly policy?: RecursionPolicy;
  /** Different questions at upstreams at once; default 1000. One domain gets a quarter of that. */
  readonly maxInFlight?: number;
  /** Askers that wait for an answer at once, all together and of one address; default 10,000 and 256. */
  readonly maxWaiting?: number;
  readonly maxWaitingPerClient?: number;
  /** When there must be an answer; default 4 s: clients give up after 5. */
  readonly deadlineMs?: number;
  /** When an answer past its time is given rather than waited on; default 1.8 s (RFC 8767 §5). */
  readonly staleAfterMs?: number;
  /**
   * Removes private and loopback addresses from what `upstreams` answer (DNS rebinding). Zones with a route of their own
   * may have them. Default false.
   */
  readonly refusePrivate?: boolean;
  /** Marks questions so that they are recognised when they come back; default true. */
  readonly trail?: boolean;
  /** Default: those of the forwarder before, or new ones. */
  readonly counters?: ForwardCounters;
  /**
   * The forwarder that this one follows, as after a reload: its cached answers stay, but for zones whose upstreams are
   * others now, and so does what it knows of upstreams. It can go on until it is closed.
   */
  readonly before?: Forwarder;
  readonly clock?: Clock;
  readonly random?: Random;
}

const noTrail = new Uint8Array();

/**
 * Finds answers at upstreams: from the cache, by joining the same question that is under way, or by asking. Only
 * questions for records get here; UPDATE, NOTIFY and transfers have no way to be forwarded.
 */
export class Forwarder implements Resolver {
  readonly counters: ForwardCounters;
  readonly #options: Omit<ForwarderOptions, 'before'>;
  readonly #clock: Clock;
  readonly #cache: AnswerCache;
  readonly #trail = new Trail();
  readonly #prober: Prober;
  readonly #upstreams = new Map<string, Upstream>();
  /** Zone → whom to ask; the root is there always. */
  readonly #groups: ReadonlyMap<Name, UpstreamGroup>;
  readonly #fetches: Fetches;
  /** Of those who wait. */
  readonly #seats: ConcurrencyLimiter;
  #isClosed = false;

  constructor({ before, ...options }: ForwarderOptions) {
    const { clock = systemClock, random = Math.random, deadlineMs = 4000 } = options;
    this.#options = options;
    this.#clock = clock;
    const counters = options.counters ?? before?.counters ?? new ForwardCounters();
    this.counters = counters;
    const isSameCache = before !== undefined && isDeepStrictEqual(before.#options.cache, options.cache);
    const cache = { ...options.cache, clock, random, counts: counters.cache };
    this.#cache = isSameCache ? before.#cache : new AnswerCache(cache);
    this.#seats = new ConcurrencyLimiter(options.maxWaiting ?? 10_000, options.maxWaitingPerClient ?? 256);
    this.#fetches = new Fetches(options.maxInFlight ?? 1000);
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
    if (before !== undefined) this.#inherit(before, isSameCache);
  }

  /** The servers that are asked, whatever for. */
  get upstreams(): readonly Upstream[] {
    return [...this.#upstreams.values()];
  }

  /** Different questions at upstreams now. */
  get inFlight(): number {
    return this.#fetches.size;
  }

  get cacheSize(): AnswerCache['size'] {
    return this.#cache.size;
  }

  /** Answers a question. Never rejects: trouble is a response code and a `problem`. */
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
      if (found.wantsRenewal) this.#renew(key);
      return found.answer;
    }
    if (found?.recentlyFailed === true) return this.#stale(found.answer);
    return await this.#resolveAtUpstream(key, options, found);
  }

  /** Forgets what is cached of a name and all below it; returns how many answers. */
  purge(name: Name): number {
    return this.#cache.purge(name);
  }

  /** Ends what is under way, with SERVFAIL, and resolves when all of it is over. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#prober.close();
    for (const group of this.#groups.values()) group.close();
    await this.#fetches.settled();
    for (const upstream of this.#upstreams.values()) upstream.close();
  }

  #inherit(before: Forwarder, isSameCache: boolean): void {
    for (const [name, { health }] of before.#upstreams) {
      const upstream = this.#upstreams.get(name);
      if (upstream !== undefined) upstream.health = health;
    }
    if (isSameCache) for (const zone of changedZones(before.#groups, this.#groups)) this.#cache.purge(zone);
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

  /** What is not even looked up. */
  #refuse(question: Question, { client, trail = noTrail }: ResolveOptions): UpstreamAnswer | undefined {
    const { refused } = this.counters;
    if (this.#isClosed) return failure('forwarding ends', extendedErrors.NOT_READY);
    if (client !== undefined && this.#options.policy?.isAllowed(client.address) === false) {
      refused.stranger += 1;
      return refusal(`${client.address} may not ask for names of others`, extendedErrors.PROHIBITED);
    }
    if (!isForwardable(question)) {
      refused.kind += 1;
      return refusal(`${typeName(question.type)} is not forwarded`, extendedErrors.NOT_SUPPORTED);
    }
    if (routeFor(this.#groups, question.name) === undefined) {
      refused.kind += 1;
      return refusal('no server is known for this name', extendedErrors.NOT_AUTHORITATIVE);
    }
    const isProbe = mayBeProbe(question.name) && this.#prober.recognise(question.name);
    if (!isProbe && !this.#trail.isLoop(trail)) return undefined;
    this.counters.loops += 1;
    return failure('forwarding loop: this question was asked by us', extendedErrors.OTHER);
  }

  async #resolveAtUpstream(key: CacheKey, options: ResolveOptions, found: Found): Promise<UpstreamAnswer> {
    const stale = found?.state === 'stale' ? found.answer : undefined;
    const { client } = options;
    const tooMuch = this.#takeSeat(client?.address);
    if (tooMuch !== undefined) return stale === undefined ? tooMuch : this.#stale(stale);
    try {
      const fetch = this.#join(key, options.trail ?? noTrail);
      if (fetch === undefined) {
        return stale === undefined ? failure('too many questions under way', extendedErrors.OTHER) : this.#stale(stale);
      }
      if (stale === undefined) return await fetch;
      const answer = await this.#within(fetch, this.#options.staleAfterMs ?? 1800);
      return answer === undefined || isFailure(answer) ? this.#stale(stale) : answer;
    } finally {
      if (client !== undefined) this.#seats.leave(client.address);
    }
  }

  /** Why a client cannot wait for an answer; undefined: it can, and has a seat. */
  #takeSeat(address: string | undefined): UpstreamAnswer | undefined {
    if (address === undefined) return undefined;
    const { refused } = this.counters;
    if (this.#options.policy?.spend(address) === false) {
      refused.rate += 1;
      return refusal(`${address} asks too often`, extendedErrors.PROHIBITED);
    }
    const seat = this.#seats.enter(address);
    if (seat === 'taken') return undefined;
    refused[seat === 'share' ? 'client' : 'overload'] += 1;
    return seat === 'share'
      ? refusal(`${address} has too many questions under way`, extendedErrors.PROHIBITED)
      : failure('too many questions under way', extendedErrors.OTHER);
  }

  /** The answer to the same question that is under way, or to a new one; undefined: there are too many. */
  #join(key: CacheKey, trail: Uint8Array): Promise<UpstreamAnswer> | undefined {
    const joined = this.#fetches.join(key, () =>
      this.#fetch(key, trail).catch((error: unknown) => failure(`bug: ${String(error)}`, extendedErrors.OTHER)),
    );
    if (joined.state === 'joined') this.counters.coalesced += 1;
    if (joined.state === 'full') this.counters.refused.overload += 1;
    if (joined.state === 'share') this.counters.refused.domain += 1;
    return joined.answer;
  }

  /** Asks once more for what many ask for, before its time is over. */
  #renew(key: CacheKey): void {
    // Nobody waits for it, so it takes no place from those that wait.
    if (this.#fetches.has(key) || this.#fetches.size * 2 >= this.#fetches.most) return;
    this.counters.cache.prefetches += 1;
    void this.#join(key, noTrail); // never rejects
  }

  async #fetch(key: CacheKey, trail: Uint8Array): Promise<UpstreamAnswer> {
    const group = routeFor(this.#groups, key.question.name);
    if (group === undefined) return failure('no upstream is configured', extendedErrors.OTHER);
    const marked = this.#options.trail === false ? noTrail : this.#trail.extend(trail);
    const result = await group.ask({ ...key, trail: marked });
    if ('problem' in result) {
      const said = result.message === undefined ? rcodes.SERVFAIL : rcodeOf(result.message);
      // A referral says NOERROR, and is a failure all the same.
      const rcode = said === rcodes.NOERROR ? rcodes.SERVFAIL : said;
      const answer = emptyAnswer(rcode, { code: extendedErrors.NO_REACHABLE_AUTHORITY, text: result.problem });
      // That we have no room now says nothing about the question.
      if (result.isBusy) this.counters.refused.overload += 1;
      else if (!this.#isClosed) this.#cache.fail(key, answer);
      return answer;
    }
    const extracted = extract(key.question, result.message);
    this.#cache.put(key, extracted);
    return extracted.answer;
  }

  /** The answer if it comes in time. */
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
