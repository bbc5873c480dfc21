import { randomBytes, randomInt } from 'node:crypto';

import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { rcodes } from '../wire/codes.ts';
import type { Message } from '../wire/message.ts';
import { rcodeOf } from '../wire/message.ts';
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
  /** Questions under way at once, and so sockets; default 500. More are refused. */
  readonly maxConcurrent?: number;
  /** Connections over TCP; default 4. */
  readonly maxConnections?: number;
  /** How long a connection without questions stays open; default 10 s. */
  readonly idleMs?: number;
  /** Sends names in random case and wants them back so (0x20): for upstreams that keep the case. Default false. */
  readonly mixCase?: boolean;
  /** Asks over TCP only: for networks that lose datagrams. Default false. */
  readonly forceTcp?: boolean;
  readonly clock?: Clock;
  readonly counts?: UpstreamCounts;
}

/** How long an upstream that does not know EDNS is asked without. */
const plainForMs = 300_000;

/** One server that is asked. It does not retry; who asks it decides that. */
export class Upstream {
  /** As metrics call it: `192.0.2.1:53`. */
  readonly name: string;
  readonly endpoint: Endpoint;
  /** What was seen of it; written by who asks it. */
  health: Health = unknownHealth;
  readonly counts: UpstreamCounts;
  readonly #options: UpstreamOptions;
  readonly #clock: Clock;
  readonly #tcp: TcpConnections;
  #inFlight = 0;
  #plainUntil = -Infinity;

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

  /** Questions under way. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Connections that are open. */
  get openConnections(): number {
    return this.#tcp.size;
  }

  /** Asks, over TCP where UDP cannot carry the answer. Rejects with `UpstreamError`; waits as long as `signal` lets it. */
  async ask(query: UpstreamQuery, signal: AbortSignal): Promise<Message> {
    const { maxConcurrent = 500 } = this.#options;
    if (this.#inFlight >= maxConcurrent) {
      throw new UpstreamError('BUSY', `${this.name} has ${maxConcurrent} questions under way`);
    }
    this.#inFlight += 1;
    try {
      return await this.#askAsItCan(query, signal);
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** Closes the connections. Questions over UDP end with their signals. */
  close(): void {
    this.#tcp.close();
  }

  async #askAsItCan(query: UpstreamQuery, signal: AbortSignal): Promise<Message> {
    const isPlain = this.#clock.elapsed() < this.#plainUntil;
    const message = await this.#askOnce(query, !isPlain, signal);
    if (isPlain || !isTooOld(message)) return message;
    const plain = await this.#askOnce(query, false, signal);
    if (!isTooOld(plain)) this.#plainUntil = this.#clock.elapsed() + plainForMs;
    return plain;
  }

  async #askOnce(query: UpstreamQuery, edns: boolean, signal: AbortSignal): Promise<Message> {
    const { mixCase = false, forceTcp = false } = this.#options;
    const cases = mixCase && !forceTcp ? { cases: randomBytes(32) } : {};
    const sent = encodeQuery(query, { id: randomInt(0x1_0000), edns, ...cases });
    if (sent === undefined) throw new UpstreamError('NETWORK', `cannot ask for "${query.question.name}"`);
    const onWrongReply = (): void => void (this.counts.wrongReplies += 1);
    const reply: Reply = forceTcp
      ? { truncated: true }
      : await exchange(this.endpoint, sent, { signal, exactCase: mixCase, onWrongReply });
    return reply.truncated ? await this.#tcp.ask(sent, signal) : reply.message;
  }
}

/** Whether it does not understand EDNS, or options in it. */
function isTooOld(message: Message): boolean {
  const rcode = rcodeOf(message);
  return (
    rcode === rcodes.FORMERR || rcode === rcodes.BADVERS || (rcode === rcodes.NOTIMP && message.edns === undefined)
  );
}

/** How an endpoint is written. */
export const endpointName = ({ address, port }: Endpoint): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
