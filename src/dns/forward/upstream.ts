import { randomBytes, randomInt } from 'node:crypto';

import { joinHostPort } from '../../api/addresses.ts';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { rcodes } from '../../dnswire/codes.ts';
import type { Message } from '../../dnswire/message.ts';
import { rcodeOf } from '../../dnswire/message.ts';
import type { Health } from './choose.ts';
import { unknownHealth } from './choose.ts';
import { UpstreamCounts } from './counters.ts';
import { UpstreamError } from './errors.ts';
import type { Reply, UpstreamQuery } from './query.ts';
import { encodeQuery } from './query.ts';
import { TcpConnections } from './tcp.ts';
import type { Endpoint } from './udp.ts';
import { exchange } from './udp.ts';

export interface UpstreamOptions {
  /** Concurrent queries, and so sockets; default 500. More are rejected. */
  readonly maxConcurrent?: number;
  /** TCP connections; default 4. */
  readonly maxConnections?: number;
  /** How long an unused connection stays open; default 10 s. */
  readonly idleMs?: number;
  /**
   * Sends names in random case over UDP and accepts replies only in the same case (0x20). An upstream that does not keep
   * the case over TCP either gets lower case for an hour. Default true.
   */
  readonly mixCase?: boolean;
  /** Uses TCP only, for networks that lose datagrams. Default false. */
  readonly forceTcp?: boolean;
  readonly clock?: Clock;
  readonly counts?: UpstreamCounts;
}

/** How long queries to an upstream without EDNS support omit it. */
const plainForMs = 300_000;
/** How long queries to an upstream that does not keep the case are in lower case. */
const lowerCaseForMs = 3_600_000;

/** An upstream server. It does not retry queries; callers do. */
export class Upstream {
  /** Its name in metrics: `192.0.2.1:53`. */
  readonly name: string;
  readonly endpoint: Endpoint;
  /** Its state, updated by callers. */
  health: Health = unknownHealth;
  readonly counts: UpstreamCounts;
  readonly #options: UpstreamOptions;
  readonly #clock: Clock;
  readonly #tcp: TcpConnections;
  #inFlight = 0;
  #plainUntil = -Infinity;
  #lowerCaseUntil = -Infinity;

  constructor(endpoint: Endpoint, options: UpstreamOptions = {}) {
    this.endpoint = endpoint;
    this.name = endpointName(endpoint);
    this.#options = options;
    this.counts = options.counts ?? new UpstreamCounts();
    this.#clock = options.clock ?? systemClock;
    this.#tcp = new TcpConnections(endpoint, {
      clock: this.#clock,
      connections: options.maxConnections ?? 4,
      idleMs: options.idleMs ?? 10_000,
      onConnection: (isReused) => void this.counts.connections[isReused ? 'reused' : 'opened']++,
    });
  }

  /** Number of queries in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Number of open connections. */
  get openConnections(): number {
    return this.#tcp.size;
  }

  /** Sends a query, over TCP if necessary. Rejects with `UpstreamError`; waits until `signal` fires. */
  async ask(query: UpstreamQuery, signal: AbortSignal): Promise<Message> {
    const { maxConcurrent = 500 } = this.#options;
    if (this.#inFlight >= maxConcurrent) {
      throw new UpstreamError('BUSY', `${this.name} has ${maxConcurrent} queries in flight`);
    }
    this.#inFlight += 1;
    try {
      return await this.#askWithEdnsFallback(query, signal);
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** Closes the connections. UDP queries end with their signals. */
  close(): void {
    this.#tcp.close();
  }

  async #askWithEdnsFallback(query: UpstreamQuery, signal: AbortSignal): Promise<Message> {
    const isPlain = this.#clock.elapsed() < this.#plainUntil;
    const message = await this.#askOnce(query, !isPlain, signal);
    if (isPlain || !lacksEdns(message)) return message;
    const plain = await this.#askOnce(query, false, signal);
    if (!lacksEdns(plain)) this.#plainUntil = this.#clock.elapsed() + plainForMs;
    return plain;
  }

  async #askOnce(query: UpstreamQuery, edns: boolean, signal: AbortSignal): Promise<Message> {
    const { mixCase = true, forceTcp = false } = this.#options;
    const exactCase = mixCase && !forceTcp && this.#clock.elapsed() >= this.#lowerCaseUntil;
    const sent = this.#encode(query, edns, exactCase);
    if (forceTcp) return (await this.#tcp.ask(sent, signal)).message;
    const reply = await this.#exchange(sent, exactCase, signal);
    if (!reply.truncated) return reply.message;
    if (!exactCase) return (await this.#tcp.ask(sent, signal)).message;
    return await this.#repeatOverTcp(query, edns, { sent, reply, signal });
  }

  /** Repeats a mixed-case query over TCP, where replies are not forged, which shows whether the upstream keeps the case. */
  async #repeatOverTcp(
    query: UpstreamQuery,
    edns: boolean,
    { sent, reply, signal }: { readonly sent: Uint8Array; readonly reply: Reply; readonly signal: AbortSignal },
  ): Promise<Message> {
    try {
      const { message, keepsCase } = await this.#tcp.ask(sent, signal);
      if (!keepsCase) this.#useLowerCase();
      return message;
    } catch (error) {
      // Without TCP an upstream that does not keep the case could never be used.
      if (signal.aborted || reply.keepsCase) throw error;
      const plain = await this.#exchange(this.#encode(query, edns, false), false, signal);
      if (plain.truncated) throw error;
      this.#useLowerCase();
      return plain.message;
    }
  }

  #useLowerCase(): void {
    this.#lowerCaseUntil = this.#clock.elapsed() + lowerCaseForMs;
  }

  #encode(query: UpstreamQuery, edns: boolean, mixCase: boolean): Uint8Array {
    const sent = encodeQuery(query, { id: randomInt(0x1_0000), edns, ...(mixCase ? { cases: randomBytes(32) } : {}) });
    if (sent === undefined) throw new UpstreamError('NETWORK', `invalid name "${query.question.name}"`);
    return sent;
  }

  async #exchange(sent: Uint8Array, exactCase: boolean, signal: AbortSignal): Promise<Reply> {
    const onWrongReply = (): void => void (this.counts.wrongReplies += 1);
    return await exchange(this.endpoint, sent, { signal, clock: this.#clock, exactCase, onWrongReply });
  }
}

/** Whether an upstream does not support EDNS or its options. */
function lacksEdns(message: Message): boolean {
  const rcode = rcodeOf(message);
  return (
    rcode === rcodes.FORMERR || rcode === rcodes.BADVERS || (rcode === rcodes.NOTIMP && message.edns === undefined)
  );
}

/** The text of an endpoint. */
export const endpointName = ({ address, port }: Endpoint): string => joinHostPort(address, port);
