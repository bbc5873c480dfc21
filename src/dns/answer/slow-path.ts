// Answers queries without a prepared answer.
import type { Resolver, UpstreamAnswer } from '../resolver.ts';
import { emptyAnswer } from '../resolver.ts';
import type { QueryClient, SlowPath } from '../prepared.ts';
import type { Name } from '../../dnswire/data.ts';
import type { Zones } from '../records/zones.ts';
import { extendedErrors, flagBits, optionCodes, rcodes, types } from '../../dnswire/codes.ts';
import type { Question } from '../../dnswire/message.ts';
import type { Outcome } from './answer.ts';
import { answer } from './answer.ts';
import type { CompletionOptions } from './completion.ts';
import { aliasTo, searchCandidates } from './completion.ts';
import type { Cookies } from '../message/cookie.ts';
import type { EncodeContext } from '../message/encode.ts';
import { encode } from '../message/encode.ts';
import { check } from '../message/protocol.ts';
import type { Query } from '../message/query.ts';
import type { Reply } from '../message/reply.ts';
import { emptyReply } from '../message/reply.ts';
import type { Transfers } from './transfer.ts';
import { aliasIntoZones, withoutAaaa, joinUpstream, withoutAd } from './upstream.ts';

export interface SlowPathOptions {
  readonly zones: Zones;
  /** Resolves names outside our zones; left out: they are refused. */
  readonly resolver?: Resolver;
  /** Clients that may recurse; none by default. */
  readonly mayRecurse?: (address: string) => boolean;
  /** Left out: transfers are refused. */
  readonly transfers?: Pick<Transfers, 'respond'>;
  readonly cookies?: Cookies;
  /** Whether the first sync is complete; until then no name is denied. True by default. */
  readonly isSynced?: () => boolean;
  /** Search-path completion; off by default. */
  readonly completion?: CompletionOptions;
  /** Returns no AAAA records for names outside our zones; false by default. */
  readonly filterAaaa?: boolean;
  /** Passes on the AD flag of upstreams; false by default. */
  readonly trustAd?: boolean;
  /** Milliseconds since 1970; the system clock by default. */
  readonly now?: () => number;
  /** Called with unexpected errors; the client gets SERVFAIL. */
  readonly onError?: (error: unknown) => void;
}

/** Returns the handler of queries without a prepared answer. */
export function slowPath(options: SlowPathOptions): SlowPath {
  let rotation = 0;
  const handler = new SlowPathHandler(options);
  return async (bytes, client) => {
    // Steps of the golden ratio reach all records evenly, independent of queries in between.
    rotation = (rotation + 0x9e37_79b9) >>> 0;
    return await handler.respond(bytes, client, rotation);
  };
}

/** The maximum number of times that a chain of aliases may enter our zones. */
const maxCrossings = 4;

const wantsRecursion = ({ header }: Query): boolean => (header.flags & flagBits.RD) !== 0;

class SlowPathHandler {
  readonly #options: SlowPathOptions;

  constructor(options: SlowPathOptions) {
    this.#options = options;
  }

  async respond(bytes: Uint8Array, client: QueryClient, rotation: number): Promise<readonly Uint8Array[]> {
    const { cookies, now = Date.now, onError } = this.#options;
    const recursion = this.#mayRecurse(client);
    const { address, protocol } = client;
    const nowSeconds = Math.floor(now() / 1000);
    const verdict = check(bytes, { address, protocol, recursion, nowSeconds, cookies });
    if (verdict.kind === 'drop') return [];
    if (verdict.kind === 'reply') return [verdict.bytes];
    const { query, cookie } = verdict;
    const context: EncodeContext = { protocol, recursion, rotation, cookie };
    try {
      return await this.#answer(query, client, context);
    } catch (error) {
      onError?.(error);
      return [encode(query, emptyReply(rcodes.SERVFAIL), context)];
    }
  }

  #mayRecurse({ address }: QueryClient): boolean {
    const { resolver, mayRecurse } = this.#options;
    return resolver !== undefined && mayRecurse?.(address) === true;
  }

  #mayForward(query: Query, client: QueryClient): boolean {
    return wantsRecursion(query) && this.#mayRecurse(client);
  }

  async #answer(query: Query, client: QueryClient, context: EncodeContext): Promise<readonly Uint8Array[]> {
    const { transfers, isSynced } = this.#options;
    const { type } = query.question;
    if (transfers !== undefined && (type === types.AXFR || type === types.IXFR)) {
      // An incomplete copy would deny existing names.
      if (isSynced?.() === false) return [encode(query, notReady, context)];
      return await transfers.respond(query, client, context);
    }
    return [encode(query, await this.#reply(query, client), context)];
  }

  async #reply(query: Query, client: QueryClient): Promise<Reply> {
    const { zones, isSynced, completion } = this.#options;
    const outcome = answer(zones, query.question);
    const isDenied = outcome.rcode === rcodes.NXDOMAIN;
    if (isDenied && isSynced?.() === false) return notReady;
    if (isDenied && completion !== undefined) {
      const found = await this.#complete(query, client, completion);
      if (found !== undefined) return found;
    }
    return await this.#followAliases(outcome, query, client);
  }

  /**
   * Resolves aliases: upstream if they leave our zones, and from our zones if those of the upstream enter them. Upstream
   * records of our zones are never relayed.
   */
  async #followAliases(outcome: Outcome, query: Query, client: QueryClient): Promise<Reply> {
    const { zones, isSynced } = this.#options;
    const { question } = query;
    if (outcome.chase !== undefined && !this.#mayForward(query, client)) {
      const isForbidden = outcome.reason.rule === 'outside' && wantsRecursion(query);
      return isForbidden ? { ...outcome, error: { code: extendedErrors.PROHIBITED } } : outcome;
    }
    let chain = outcome;
    for (let crossings = 0; crossings <= maxCrossings; crossings++) {
      if (chain.chase === undefined) return chain;
      const upstream = await this.#resolve({ ...question, name: chain.chase }, query, client);
      const entry = aliasIntoZones(zones, question.type, upstream);
      if (entry === undefined) return joinUpstream(chain, upstream, query.edns?.dnssecOk === true);
      const ours = answer(zones, { name: entry.name, type: question.type });
      if (ours.rcode === rcodes.NXDOMAIN && isSynced?.() === false) return notReady;
      const answers = [...chain.answers, ...entry.answers, ...ours.answers];
      chain = { ...ours, answers, authoritative: outcome.authoritative };
    }
    return aliasLoop;
  }

  async #resolve(question: Question, query: Query, client: QueryClient): Promise<UpstreamAnswer> {
    const { resolver, filterAaaa, trustAd, onError } = this.#options;
    if (resolver === undefined) return emptyAnswer(rcodes.REFUSED);
    const dnssecOk = query.edns?.dnssecOk === true;
    const checkingDisabled = (query.header.flags & flagBits.CD) !== 0;
    const hops = query.edns?.options.find(({ code }) => code === optionCodes.HOPS)?.data;
    const options = { dnssecOk, checkingDisabled, client, ...(hops === undefined ? {} : { hops }) };
    try {
      if (filterAaaa !== true || question.type !== types.AAAA) {
        const found = await resolver.resolve(question, options);
        return trustAd === true ? found : withoutAd(found);
      }
      return withoutAaaa(question.name, await resolver.resolve({ ...question, type: types.A }, options));
    } catch (error) {
      onError?.(error);
      return emptyAnswer(rcodes.SERVFAIL, { code: extendedErrors.NETWORK_ERROR, text: 'no upstream answered' });
    }
  }

  /** The reply of search-path completion; undefined if no name of the list exists, or a name must be forwarded and may not. */
  async #complete(query: Query, client: QueryClient, completion: CompletionOptions): Promise<Reply | undefined> {
    const { zones } = this.#options;
    const { name: queryName, type } = query.question;
    for (const name of searchCandidates(zones, query.question, completion)) {
      const outcome = answer(zones, { name, type });
      if (outcome.reason.rule === 'outside' && !this.#mayForward(query, client)) return undefined;
      const reply = await this.#followAliases(outcome, query, client);
      if (reply.rcode !== rcodes.NXDOMAIN) return completed(queryName, name, reply);
    }
    return undefined;
  }
}

/** The alias has the lowest TTL of the records, so that it does not outlive them. */
function completed(queryName: Name, target: Name, reply: Reply): Reply {
  // A failure must not become NXDOMAIN, or the resolver would continue with the next suffix.
  if (reply.rcode !== rcodes.NOERROR) return { ...emptyReply(rcodes.SERVFAIL, reply.error), authoritative: true };
  const ttl = Math.min(30, ...[...reply.answers, ...reply.authority].map((entry) => entry.ttl));
  return {
    ...reply,
    authoritative: true,
    authentic: false,
    answers: [aliasTo(queryName, target, ttl), ...reply.answers],
  };
}

const aliasLoop: Reply = emptyReply(rcodes.SERVFAIL, {
  code: extendedErrors.OTHER,
  text: 'the alias chain enters the zones of the cluster too often',
});

const notReady: Reply = emptyReply(rcodes.SERVFAIL, {
  code: extendedErrors.NOT_READY,
  text: 'the cluster has not been read completely yet',
});
