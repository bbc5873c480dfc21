import { recordTypes } from '../../dnswire/data.ts';
import { classes, opcodes, rcodes, types } from '../../dnswire/codes.ts';
import { headerBytes } from '../../dnswire/message.ts';
import { findAnswer, fittingAdditional, fittingRecords } from './answer-block.ts';
import { QueryName } from './query-name.ts';
import { answerHalves, tooLarge } from './layout.ts';
import type { TableReader } from './lookup.ts';
import { maxSoaBytes, writeSoa } from './zone-block.ts';

/** Returned in place of a length: the query is for whoever has the whole picture. */
export const ask = -1;
/** Returned in place of a length: the query has options or extra records; see `full-parse.ts`. */
export const needsFullParse = -2;
/** Returned in place of a length: no reply is right. */
export const silence = 0;

/** The largest datagram that crosses every network unfragmented (RFC 9715); also what we say that we can take. */
export const maxUdpReplyBytes = 1232;
const smallestUdpReplyBytes = 512;
const maxTcpReplyBytes = 65_535;
const optBytes = 11;
/** Copies shorter than this are faster byte by byte than with a view made for them. */
const shortCopy = 160;

export interface AnswererOptions {
  /** Whether questions for other zones are answered too, which every reply says. */
  readonly recursionAvailable?: boolean;
}

/** What a reply to a query that was looked at already may be, and its OPT record. */
export interface Allowance {
  readonly limit: number;
  readonly opt: Uint8Array | undefined;
}

/**
 * Makes replies from a table, bytes to bytes, without allocating anything. Whoever calls brackets calls with the table's
 * `begin` and `end`. After a call the fields say what the query was about.
 */
export class Answerer {
  /** The table to answer from; another may take its place between two queries. */
  table: TableReader;
  /** Type asked for; 0 if the query could not be read that far. */
  type = 0;
  rcode = 0;
  dnssecOk = false;
  readonly #recursionBit: number;
  readonly #name = new QueryName();
  #rotation = 0;
  /** What the client can take, and whether it sent an OPT record. */
  #limit = 0;
  /** Bytes of the reply's OPT record; 0: none. `#opt` is the record where it is not the plain one. */
  #optLength = 0;
  #opt: Uint8Array | undefined;
  /** The reply being written: where it begins and has got to, and its counts. */
  #at = 0;
  #end = 0;
  #truncated = false;

  constructor(table: TableReader, options: AnswererOptions = {}) {
    this.table = table;
    this.#recursionBit = options.recursionAvailable === true ? 0x80 : 0;
  }

  /**
   * Answers the query of `length` bytes at `start`, writing the reply to `out` at `at`; there must be room for the largest
   * reply of the protocol. Returns the reply's length, `ask`, `lookCloser` or `silence`.
   */
  answer(query: Uint8Array, start: number, length: number, out: Uint8Array, at: number, overUdp: boolean): number {
    this.type = 0;
    this.rcode = rcodes.NOERROR;
    this.dnssecOk = false;
    this.#optLength = 0;
    this.#opt = undefined;
    this.#at = at;
    // Whatever is too short for a header, and every reply: an answer to it could go back and forth for ever.
    if (length < headerBytes || ((query[start + 2] ?? 0) & 0x80) !== 0) return silence;
    const opcode = ((query[start + 2] ?? 0) >> 3) & 0xf;
    // We are nobody's secondary, so a NOTIFY is for somebody else.
    if (opcode === opcodes.NOTIFY) return this.#bare(query, start, out, rcodes.NOTAUTH);
    if (opcode !== opcodes.QUERY) return this.#bare(query, start, out, rcodes.NOTIMP);
    const end = start + length;
    const questions = ((query[start + 4] ?? 0) << 8) | (query[start + 5] ?? 0);
    const nameEnd = questions === 1 ? this.#name.read(query, start + headerBytes, end) : 0;
    if (nameEnd === 0 || nameEnd + 4 > end) return this.#bare(query, start, out, rcodes.FORMERR);
    this.type = ((query[nameEnd] ?? 0) << 8) | (query[nameEnd + 1] ?? 0);
    const rest = this.#readRest(query, start, nameEnd + 4, end, overUdp);
    if (rest < 0) return rest;
    if (rest !== rcodes.NOERROR) return this.#failed(query, start, out, rest);
    if ((query[nameEnd + 2] ?? 0) !== 0 || (query[nameEnd + 3] ?? 0) !== classes.IN) {
      return this.#failed(query, start, out, rcodes.REFUSED);
    }
    return this.#lookUp(query, start, out);
  }

  /** As `answer`, for a query in class IN that was found to be right; an OPT record is given, not made. */
  answerChecked(query: Uint8Array, out: Uint8Array, at: number, { limit, opt }: Allowance): number {
    this.#at = at;
    this.#limit = limit;
    this.#opt = opt;
    this.#optLength = opt?.length ?? 0;
    const nameEnd = this.#name.read(query, headerBytes, query.length);
    this.type = ((query[nameEnd] ?? 0) << 8) | (query[nameEnd + 1] ?? 0);
    return this.#lookUp(query, 0, out);
  }

  /** Reads what follows the question: nothing, or an OPT record. Returns a response code, or a number below 0. */
  #readRest(query: Uint8Array, start: number, at: number, end: number, overUdp: boolean): number {
    this.#limit = overUdp ? smallestUdpReplyBytes : maxTcpReplyBytes;
    const answersAndAuthorities =
      (query[start + 6] ?? 0) | (query[start + 7] ?? 0) | (query[start + 8] ?? 0) | (query[start + 9] ?? 0);
    const additional = ((query[start + 10] ?? 0) << 8) | (query[start + 11] ?? 0);
    if (answersAndAuthorities !== 0 || additional > 2) return needsFullParse;
    if (additional === 0) return rcodes.NOERROR;
    const isOpt = query[at] === 0 && query[at + 1] === 0 && query[at + 2] === types.OPT;
    // A signature, or two records: rare, and not to be skipped.
    if (additional === 2 || !isOpt) return needsFullParse;
    const optionsLength = ((query[at + 9] ?? 0) << 8) | (query[at + 10] ?? 0);
    if (at + optBytes + optionsLength > end) return rcodes.FORMERR;
    this.#optLength = optBytes;
    this.dnssecOk = ((query[at + 7] ?? 0) & 0x80) !== 0;
    if (overUdp) {
      const size = ((query[at + 3] ?? 0) << 8) | (query[at + 4] ?? 0);
      this.#limit = Math.min(Math.max(size, smallestUdpReplyBytes), maxUdpReplyBytes);
    }
    if ((query[at + 6] ?? 0) !== 0) return rcodes.BADVERS;
    return optionsLength === 0 ? rcodes.NOERROR : needsFullParse;
  }

  #lookUp(query: Uint8Array, start: number, out: Uint8Array): number {
    const { table } = this;
    const block = table.find(this.#name);
    if (block === 0) return this.#negative(query, start, out);
    const answer = findAnswer(table, block, this.#name.length, this.type);
    if (answer !== 0) return this.#positive(query, start, out, answer);
    // Transfers and questions for any type have no answer here unless one was prepared.
    const isMeta = this.type >= types.TSIG - 1 && this.type <= types.ANY;
    if (isMeta || table.hasSlowTypes(block)) return ask;
    return this.#empty(query, start, out, table.zone(block), rcodes.NOERROR);
  }

  #negative(query: Uint8Array, start: number, out: Uint8Array): number {
    const { table } = this;
    const encloser = table.closest(this.#name);
    if (encloser === 0 || table.hasSlowDescendants(encloser)) return ask;
    const isTransfer = this.type === types.AXFR || this.type === types.IXFR;
    return isTransfer ? ask : this.#empty(query, start, out, table.zone(encloser), rcodes.NXDOMAIN);
  }

  #empty(query: Uint8Array, start: number, out: Uint8Array, zone: number, rcode: number): number {
    // The zone is not, or not yet, answered from here.
    if (zone === 0) return ask;
    this.#begin(query, start, out);
    const room = this.#limit - this.#optLength;
    // The longest question and the largest SOA record exceed 512 bytes; TCP has room.
    const fits = this.#end - this.#at + maxSoaBytes <= room || this.#soaFits(zone, room);
    if (fits) this.#end = writeSoa(this.table, zone, out, this.#end, headerBytes + this.#name.length);
    else this.#truncated = true;
    return this.#finish(query, start, out, { rcode, answers: 0, authorities: fits ? 1 : 0, additional: 0, aa: 0x04 });
  }

  #soaFits(zone: number, room: number): boolean {
    const sizes = this.table.words[(zone >> 2) + 1] ?? 0;
    const names = ((sizes >>> 8) & 0xff) + ((sizes >>> 16) & 0xff) + 4;
    return this.#end - this.#at + 12 + 20 + names <= room;
  }

  #positive(query: Uint8Array, start: number, out: Uint8Array, half: number): number {
    const { halves } = this.table;
    const records = halves[half + 1] ?? 0;
    if (records === tooLarge) return ask;
    this.#begin(query, start, out);
    const additional = halves[half + 2] ?? 0;
    const ends = half + answerHalves;
    const data = (ends + records + additional) * 2;
    const room = this.#limit - this.#optLength - (this.#end - this.#at);
    const size = halves[half + 3] ?? 0;
    const first = this.#turn(records);
    const answers = size <= room ? records : fittingRecords(halves, ends, { records, first, room });
    this.#truncated = answers < records;
    this.#copyTurned(out, ends, records, first, answers, data);
    let extra = 0;
    if (!this.#truncated && additional > 0) extra = this.#copyAdditional(out, half, room);
    const counts = { rcode: rcodes.NOERROR, answers, authorities: 0, additional: extra, aa: 0x04 };
    return this.#finish(query, start, out, counts);
  }

  /**
   * Which record comes first this time. Steps of the golden ratio visit all evenly, also for who asks for two types in
   * turn, to whom a counter would show every second record only. Names of an address are in order: the best comes first.
   */
  #turn(records: number): number {
    if (records < 2 || this.type === recordTypes.PTR) return 0;
    this.#rotation = (this.#rotation + 0x9e3779b9) | 0;
    return Math.floor(((this.#rotation >>> 0) / 0x1_0000_0000) * records);
  }

  /** Copies `count` records beginning with `first`, in at most two pieces. */
  #copyTurned(out: Uint8Array, ends: number, records: number, first: number, count: number, data: number): void {
    if (count === 0) return;
    const { halves } = this.table;
    const upTo = Math.min(first + count, records);
    const begin = first === 0 ? 0 : (halves[ends + first - 1] ?? 0);
    this.#copy(out, data + begin, (halves[ends + upTo - 1] ?? 0) - begin);
    const wrapped = first + count - records;
    if (wrapped > 0) this.#copy(out, data, halves[ends + wrapped - 1] ?? 0);
  }

  /** Copies additional records, as many as fit; returns how many. */
  #copyAdditional(out: Uint8Array, answer: number, room: number): number {
    const { halves } = this.table;
    const records = halves[answer + 1] ?? 0;
    const additional = halves[answer + 2] ?? 0;
    const ends = answer + answerHalves;
    const data = (ends + records + additional) * 2;
    const count = fittingAdditional(this.table, ends, { records, additional, room });
    const begin = records === 0 ? 0 : (halves[ends + records - 1] ?? 0);
    if (count > 0) this.#copy(out, data + begin, (halves[ends + records + count - 1] ?? 0) - begin);
    return count;
  }

  #copy(out: Uint8Array, from: number, length: number): void {
    const { bytes } = this.table;
    const end = this.#end;
    if (length > shortCopy) out.set(bytes.subarray(from, from + length), end);
    else for (let at = 0; at < length; at++) out[end + at] = bytes[from + at] ?? 0;
    this.#end = end + length;
  }

  /** Copies the question, as it was written. */
  #begin(query: Uint8Array, start: number, out: Uint8Array): void {
    const at = this.#at;
    const end = headerBytes + this.#name.length + 4;
    for (let index = headerBytes; index < end; index++) out[at + index] = query[start + index] ?? 0;
    this.#end = at + end;
    this.#truncated = false;
  }

  /** Writes OPT record and header; returns the reply's length. */
  #finish(
    query: Uint8Array,
    start: number,
    out: Uint8Array,
    counts: {
      readonly rcode: number;
      readonly answers: number;
      readonly authorities: number;
      readonly additional: number;
      readonly aa: number;
    },
  ): number {
    if (this.#optLength !== 0) this.#writeOpt(out, counts.rcode >> 4);
    this.rcode = counts.rcode;
    const at = this.#at;
    const flags = query[start + 2] ?? 0;
    const additional = counts.additional + (this.#optLength === 0 ? 0 : 1);
    out[at] = query[start] ?? 0;
    out[at + 1] = query[start + 1] ?? 0;
    out[at + 2] = 0x80 | (flags & 0x79) | counts.aa | (this.#truncated ? 0x02 : 0);
    // What the client knows about checking comes back as it was (CD, RFC 4035 §3.1.6).
    out[at + 3] = this.#recursionBit | ((query[start + 3] ?? 0) & 0x10) | (counts.rcode & 0xf);
    out[at + 4] = 0;
    out[at + 5] = 1;
    out[at + 6] = counts.answers >> 8;
    out[at + 7] = counts.answers;
    out[at + 8] = 0;
    out[at + 9] = counts.authorities;
    out[at + 10] = additional >> 8;
    out[at + 11] = additional;
    return this.#end - at;
  }

  #writeOpt(out: Uint8Array, extendedRcode: number): void {
    const end = this.#end;
    this.#end = end + this.#optLength;
    if (this.#opt !== undefined) {
      out.set(this.#opt, end);
      return;
    }
    out[end] = 0;
    out[end + 1] = 0;
    out[end + 2] = types.OPT;
    out[end + 3] = maxUdpReplyBytes >> 8;
    out[end + 4] = maxUdpReplyBytes & 0xff;
    out[end + 5] = extendedRcode;
    out[end + 6] = 0;
    out[end + 7] = this.dnssecOk ? 0x80 : 0;
    out[end + 8] = 0;
    out[end + 9] = 0;
    out[end + 10] = 0;
  }

  /** A reply without records to a question that could be read. */
  #failed(query: Uint8Array, start: number, out: Uint8Array, rcode: number): number {
    this.#begin(query, start, out);
    return this.#finish(query, start, out, { rcode, answers: 0, authorities: 0, additional: 0, aa: 0 });
  }

  /** A reply of a header only, to what could not be read. */
  #bare(query: Uint8Array, start: number, out: Uint8Array, rcode: number): number {
    this.rcode = rcode;
    const at = this.#at;
    out[at] = query[start] ?? 0;
    out[at + 1] = query[start + 1] ?? 0;
    out[at + 2] = 0x80 | ((query[start + 2] ?? 0) & 0x79);
    out[at + 3] = ((query[start + 3] ?? 0) & 0x10) | rcode;
    for (let index = 4; index < headerBytes; index++) out[at + index] = 0;
    return headerBytes;
  }
}
