import type { Cookies } from '../message/cookie.ts';
import type { EncodeSettings } from '../message/encode.ts';
import { Answerer, needsFullParse, silence } from './answerer.ts';
import type { CarefulSettings } from './full-parse.ts';
import { answerCarefully } from './full-parse.ts';
import type { Counters } from './counters.ts';
import type { TableReader } from './lookup.ts';
import type { ClientLimiter } from './limiter.ts';

export interface ResponderOptions {
  readonly table: TableReader;
  readonly counters: Counters;
  readonly recursionAvailable?: boolean;
  readonly settings?: EncodeSettings;
  readonly cookies?: Cookies | undefined;
  /** How many datagrams a client is sent. */
  readonly responses?: ClientLimiter | undefined;
}

/** Knows the addresses of those whose queries are being answered. */
export interface ClientAddresses {
  /** As text. */
  addressText(index: number): string;
}

/** Turns bytes that came in into bytes to send, counts them, and keeps to limits. Every transport of a worker uses it. */
export class Responder {
  readonly counters: Counters;
  #answerer: Answerer;
  #careful: CarefulSettings;
  readonly #responses: ClientLimiter | undefined;
  #limited = 0;

  constructor({ table, counters, recursionAvailable = false, settings = {}, cookies, responses }: ResponderOptions) {
    this.counters = counters;
    this.#answerer = new Answerer(table, { recursionAvailable });
    this.#careful = { recursionAvailable, settings, cookies };
    this.#responses = responses;
  }

  /** Between these two, and only there, replies can be made. */
  begin(): void {
    this.#answerer.table.begin();
  }

  end(): void {
    this.#answerer.table.end();
  }

  /** Answers from another table from now on. Not between `begin` and `end`. */
  useTable(table: TableReader, recursionAvailable: boolean = this.#careful.recursionAvailable): void {
    if (recursionAvailable === this.#careful.recursionAvailable) {
      this.#answerer.table = table;
      return;
    }
    this.#answerer = new Answerer(table, { recursionAvailable });
    this.#careful = { ...this.#careful, recursionAvailable };
  }

  /**
   * Makes a reply, as `Answerer.answer` does; -1: ask the main thread. The client's address is only looked at where the
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
      replied = answerCarefully(answerer, bytes, out, at, from, this.#careful);
    }
    this.counters.request(protocol, isInet6, answerer.type, length);
    if (answerer.dnssecOk) this.counters.count('dnssecOk');
    if (replied > 0) this.counters.response(protocol, answerer.rcode, replied);
    else if (replied === silence) this.counters.count('silent');
    return replied;
  }

  /** Whether there is a limit to what a client is sent. */
  get limits(): boolean {
    return this.#responses !== undefined;
  }

  /**
   * What of a reply a client may be sent that gets many. Every second one above the limit becomes a truncated one, which
   * sends whoever really asked to TCP and is no larger than the question; the others are silence.
   */
  limit(client: number, nowMs: number, out: Uint8Array, at: number, length: number): number {
    if (this.#responses === undefined || length <= 0 || this.#responses.allows(client, nowMs)) return length;
    this.counters.count('limited');
    return (this.#limited++ & 1) === 0 ? truncated(out, at) : silence;
  }
}

/** Cuts a reply down to its question. */
function truncated(out: Uint8Array, at: number): number {
  out[at + 2] = (out[at + 2] ?? 0) | 0x02;
  for (let index = 6; index < 12; index++) out[at + index] = 0;
  let end = at + 12;
  if (out[at + 5] === 0) return 12;
  while ((out[end] ?? 0) !== 0) end += (out[end] ?? 0) + 1;
  return end + 5 - at;
}
