// Answers everything that the prepared answers do not.
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
import { aliasTo, candidates } from './completion.ts';
import type { Cookies } from '../message/cookie.ts';
import type { EncodeContext, EncodeSettings } from '../message/encode.ts';
import { encode } from '../message/encode.ts';
import { check } from '../message/protocol.ts';
import type { Query } from '../message/query.ts';
import type { Reply } from '../message/reply.ts';
import { emptyReply } from '../message/reply.ts';
import type { Transfers } from './transfer.ts';
import { entryInto, filtered, joined, unproven } from './upstream.ts';

export interface SlowPathOptions {
  readonly zones: Zones;
  /** Asks others about names that are not ours; without one they are refused. */
  readonly resolver?: Resolver;
  /** Who may have others asked; nobody by default. */
  readonly mayRecurse?: (address: string) => boolean;
  /** Without it transfers are refused. */
  readonly transfers?: Pick<Transfers, 'respond'>;
  readonly settings?: EncodeSettings;
  readonly cookies?: Cookies;
  /** Whether the zones hold all there is; until then no name is denied. True by default. */
  readonly isSynced?: () => boolean;
  /** Search-path completion; off by default. */
  readonly completion?: CompletionOptions;
  /** Says of names outside our zones that they have no IPv6 addresses; false by default. */
  readonly filterAaaa?: boolean;
  /** Passes on that an upstream has checked DNSSEC (AD); false by default. */
  readonly trustAd?: boolean;
  /** Milliseconds since 1970; the machine's clock by default. */
  readonly now?: () => number;
  /** Hears of what should not have happened; the client gets SERVFAIL. */
  readonly onError?: (error: unknown) => void;
}

/** Makes the path that a query takes when no prepared answer fits. */
export function slowPath(options: SlowPathOptions): SlowPath {
  let rotation = 0;
  const path = new Path(options);
  return async (bytes, client) => {
    // Steps of the golden ratio come by all records evenly, whatever else is asked in between.
    rotation = (rotation + 0x9e37_79b9) >>> 0;
    return await path.respond(bytes, client, rotation);
  };
}

/** How often a chain of aliases may enter our zones; more often is a loop or an attack. */
const maxCrossings = 4;

const wantsRecursion = ({ header }: Query): boolean => (header.flags & flagBits.RD) !== 0;

class Path {
  readonly #options: SlowPathOptions;

  constructor(options: SlowPathOptions) {
    this.#options = options;
  }

  async respond(bytes: Uint8Array, client: QueryClient, rotation: number): Promise<readonly Uint8Array[]> {
    const { settings, cookies, now = Date.now, onError } = this.#options;
    const recursion = this.#mayRecurse(client);
    const { address, protocol } = client;
    const nowSeconds = Math.floor(now() / 1000);
    const verdict = check(bytes, { address, protocol, recursion, nowSeconds, settings: settings ?? {}, cookies });
    if (verdict.kind === 'silence') return [];
    if (verdict.kind === 'reply') return [verdict.bytes];
    const { query, cookie } = verdict;
    const context: EncodeContext = { protocol, recursion, rotation, cookie };
    try {
      return await this.#answer(query, client, context);
    } catch (error) {
      onError?.(error);
      return [encode(query, emptyReply(rcodes.SERVFAIL), context, settings)];
    }
  }

  #mayRecurse({ address }: QueryClient): boolean {
    const { resolver, mayRecurse } = this.#options;
    return resolver !== undefined && mayRecurse?.(address) === true;
  }

  #mayAsk(query: Query, client: QueryClient): boolean {
    return wantsRecursion(query) && this.#mayRecurse(client);
  }

  async #answer(query: Query, client: QueryClient, context: EncodeContext): Promise<readonly Uint8Array[]> {
    const { transfers, settings, isSynced } = this.#options;
    const { type } = query.question;
    if (transfers !== undefined && (type === types.AXFR || type === types.IXFR)) {
      // A copy of half a zone would deny the other half.
      if (isSynced?.() === false) return [encode(query, notReady, context, settings)];
      return await transfers.respond(query, client, context);
    }
    return [encode(query, await this.#reply(query, client), context, settings)];
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
    return await this.#chased(outcome, query, client);
  }

  /**
   * The outcome, continued upstream where its aliases leave our zones, and by us where the upstream's aliases enter them:
   * what an upstream holds of our zones is never relayed.
   */
  async #chased(outcome: Outcome, query: Query, client: QueryClient): Promise<Reply> {
    const { zones, isSynced } = this.#options;
    const { question } = query;
    if (outcome.chase !== undefined && !this.#mayAsk(query, client)) {
      const isForbidden = outcome.reason.rule === 'outside' && wantsRecursion(query);
      return isForbidden ? { ...outcome, error: { code: extendedErrors.PROHIBITED } } : outcome;
    }
    let chain = outcome;
    for (let crossings = 0; crossings <= maxCrossings; crossings++) {
      if (chain.chase === undefined) return chain;
      const upstream = await this.#resolve({ ...question, name: chain.chase }, query, client);
      const entry = entryInto(zones, question.type, upstream);
      if (entry === undefined) return joined(chain, upstream, query.edns?.dnssecOk === true);
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
    const trail = query.edns?.options.find(({ code }) => code === optionCodes.TRAIL)?.data;
    const options = { dnssecOk, checkingDisabled, client, ...(trail === undefined ? {} : { trail }) };
    try {
      if (filterAaaa !== true || question.type !== types.AAAA) {
        const found = await resolver.resolve(question, options);
        return trustAd === true ? found : unproven(found);
      }
      return filtered(question.name, await resolver.resolve({ ...question, type: types.A }, options));
    } catch (error) {
      onError?.(error);
      return emptyAnswer(rcodes.SERVFAIL, { code: extendedErrors.NETWORK_ERROR, text: 'no upstream answered' });
    }
  }

  /** What the search list leads to; undefined if nothing on it exists, or others must be asked and may not be. */
  async #complete(query: Query, client: QueryClient, completion: CompletionOptions): Promise<Reply | undefined> {
    const { zones } = this.#options;
    const { name: asked, type } = query.question;
    for (const name of candidates(zones, query.question, completion)) {
      const outcome = answer(zones, { name, type });
      if (outcome.reason.rule === 'outside' && !this.#mayAsk(query, client)) return undefined;
      const reply = await this.#chased(outcome, query, client);
      if (reply.rcode !== rcodes.NXDOMAIN) return completed(asked, name, reply);
    }
    return undefined;
  }
}

/** What is found goes with the TTL of the least lasting record, so that the alias does not outlive it. */
function completed(asked: Name, found: Name, reply: Reply): Reply {
  // A failure is told as one: NXDOMAIN here and an address there would make the client's resolver give up.
  if (reply.rcode !== rcodes.NOERROR) return { ...emptyReply(rcodes.SERVFAIL, reply.error), authoritative: true };
  const ttl = Math.min(30, ...[...reply.answers, ...reply.authority].map((entry) => entry.ttl));
  return { ...reply, authoritative: true, authentic: false, answers: [aliasTo(asked, found, ttl), ...reply.answers] };
}

const aliasLoop: Reply = emptyReply(rcodes.SERVFAIL, {
  code: extendedErrors.OTHER,
  text: 'the alias enters and leaves the zones of the cluster too often',
});

const notReady: Reply = emptyReply(rcodes.SERVFAIL, {
  code: extendedErrors.NOT_READY,
  text: 'the cluster has not been read completely yet',
});
