import type { Cookies } from '../message/cookie.ts';
import { Answerer, drop, needsFullParse } from './answerer.ts';
import type { FullParseSettings } from './full-parse.ts';
import { answerFullParse } from './full-parse.ts';
import type { Counters } from './counters.ts';
import type { TableReader } from './lookup.ts';
import type { ClientLimiter } from './limiter.ts';
import type { SlowPathClient } from './slow-path-client.ts';

export interface ResponderOptions {
  readonly table: TableReader;
  readonly counters: Counters;
  readonly recursionAvailable?: boolean;
  readonly cookies?: Cookies | undefined;
  /** Limits the UDP replies to a client. */
  readonly responses?: ClientLimiter | undefined;
}

/** The clients of the current batch of queries. */
export interface ClientAddresses {
  addressText(index: number): string;
}

/** Answers queries, counts them and applies rate hasLimit, for all transports of a worker. */
export class Responder {
  readonly counters: Counters;
  #answerer: Answerer;
  #fullParse: FullParseSettings;
  readonly #responses: ClientLimiter | undefined;
  #limited = 0;

  constructor({ table, counters, recursionAvailable = false, cookies, responses }: ResponderOptions) {
    this.counters = counters;
    this.#answerer = new Answerer(table, { recursionAvailable });
    this.#fullParse = { recursionAvailable, cookies };
    this.#responses = responses;
  }

  /** Starts reading the table; replies can be made only between `begin` and `end`. */
  begin(): void {
    this.#answerer.table.begin();
  }

  end(): void {
    this.#answerer.table.end();
  }

  /** Switches to another table. Not between `begin` and `end`. */
  useTable(table: TableReader, recursionAvailable: boolean = this.#fullParse.recursionAvailable): void {
    if (recursionAvailable === this.#fullParse.recursionAvailable) {
      this.#answerer.table = table;
      return;
    }
    this.#answerer = new Answerer(table, { recursionAvailable });
    this.#fullParse = { ...this.#fullParse, recursionAvailable };
  }

  /**
   * Answers a query as `Answerer.answer` does, but never returns `needsFullParse`. The client's address is read only if the
   * query needs it.
   */
  respond(
    query: Uint8Array,
    start: number,
    length: number,
    out: Uint8Array,
    at: number,
    isInet6: boolean,
    overUdp: boolean,
    clients: ClientAddresses,
    index: number,
  ): number {
    const answerer = this.#answerer;
    const protocol = overUdp ? 0 : 1;
    let replied = answerer.answer(query, start, length, out, at, overUdp);
    if (replied === needsFullParse) {
      const from = { address: clients.addressText(index), protocol: overUdp ? 'udp' : 'tcp' } as const;
      const bytes = query.subarray(start, start + length);
      replied = answerFullParse(answerer, bytes, out, at, from, this.#fullParse);
    }
    this.counters.request(protocol, isInet6, answerer.type, length);
    if (answerer.dnssecOk) this.counters.count('dnssecOk');
    if (replied > 0) this.counters.response(protocol, answerer.rcode, replied);
    else if (replied === drop) this.counters.count('dropped');
    return replied;
  }

  /** Whether replies to a client are limited. */
  get hasLimit(): boolean {
    return this.#responses !== undefined;
  }

  /**
   * Applies the rate limit to a reply and returns its new length. Every second reply above the limit is truncate, which makes
   * real clients retry over TCP and is no larger than the question; the others are dropped.
   */
  limit(client: number, nowMs: number, out: Uint8Array, at: number, length: number): number {
    if (this.#responses === undefined || length <= 0 || this.#responses.allows(client, nowMs)) return length;
    this.counters.count('limited');
    return (this.#limited++ & 1) === 0 ? truncate(out, at) : drop;
  }
}

/** Truncates a reply to its question. */
function truncate(out: Uint8Array, at: number): number {
  out[at + 2] = (out[at + 2] ?? 0) | 0x02;
  for (let index = 6; index < 12; index++) out[at + index] = 0;
  let end = at + 12;
  if (out[at + 5] === 0) return 12;
  while ((out[end] ?? 0) !== 0) end += (out[end] ?? 0) + 1;
  return end + 5 - at;
}

/** What the listeners of a worker share. */
export interface WorkerContext {
  readonly responder: Responder;
  readonly slowPath: SlowPathClient;
}

/** Receives queries in a worker. */
export interface Listener {
  /** Stops accepting queries; resolves when all received ones are answered or handed to the slow path. */
  drain(): Promise<void>;
  /** Closes all sockets immediately. */
  close(): void;
}
