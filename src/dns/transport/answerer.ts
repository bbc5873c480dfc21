import { recordTypes } from '../../dnswire/data.ts';
import { classes, opcodes, rcodes, types } from '../../dnswire/codes.ts';
import { headerBytes } from '../../dnswire/message.ts';
import { findAnswer, fittingAdditional, fittingRecords } from './answer-block.ts';
import { QueryName } from './query-name.ts';
import { answerHalves, tooLarge } from './layout.ts';
import type { TableReader } from './lookup.ts';
import { maxSoaBytes, writeSoa } from './zone-block.ts';

/** Returned instead of a length: the query needs the slow path. */
export const toSlowPath = -1;
/** Returned instead of a length: the query has options or extra records; see `full-parse.ts`. */
export const needsFullParse = -2;
/** Returned instead of a length: the query gets no reply. */
export const drop = 0;

/** The largest datagram that is never fragmented (RFC 9715); also the UDP size that replies advertise. */
export const maxUdpReplyBytes = 1232;
const smallestUdpReplyBytes = 512;
const maxTcpReplyBytes = 65_535;
const optBytes = 11;
/** Copying fewer bytes one by one is faster than with a subarray. */
const shortCopy = 160;

export interface AnswererOptions {
  /** Whether names outside our zones are resolved: the RA flag of every reply. */
  readonly recursionAvailable?: boolean;
}

/** Size limit and OPT record of a reply to a query that was parsed already. */
export interface ReplyLimits {
  readonly limit: number;
  readonly opt: Uint8Array | undefined;
}

/**
 * Answers queries from a table, bytes to bytes, without allocations. Calls must be between the table's `begin` and `end`.
 * After a call the fields describe the query.
 */
export class Answerer {
  /** The table; may be replaced between two queries. */
  table: TableReader;
  /** The query type; 0 if the query could not be parsed that far. */
  type = 0;
  rcode = 0;
  dnssecOk = false;
  readonly #recursionBit: number;
  readonly #name = new QueryName();
  #rotation = 0;
  /** The size limit of the reply. */
  #limit = 0;
  /** The size of the reply's OPT record; 0: none. `#opt` is the record if it is not the default one. */
  #optLength = 0;
  #opt: Uint8Array | undefined;
  /** Start and end of the reply being written. */
  #at = 0;
  #end = 0;
  #truncated = false;

  constructor(table: TableReader, options: AnswererOptions = {}) {
    this.table = table;
    this.#recursionBit = options.recursionAvailable === true ? 0x80 : 0;
  }

  /**
   * Answers the query of `length` bytes at `start` into `out` at `at`, which must have room for the largest reply of the
   * protocol. Returns the length of the reply, `toSlowPath`, `needsFullParse` or `drop`.
   */
  answer(query: Uint8Array, start: number, length: number, out: Uint8Array, at: number, overUdp: boolean): number {
    this.type = 0;
    this.rcode = rcodes.NOERROR;
    this.dnssecOk = false;
    this.#optLength = 0;
    this.#opt = undefined;
    this.#at = at;
    // Too short for a header, or a response: replying to responses could loop forever.
    if (length < headerBytes || ((query[start + 2] ?? 0) & 0x80) !== 0) return drop;
    const opcode = ((query[start + 2] ?? 0) >> 3) & 0xf;
    // This server is not a secondary.
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

  /** As `answer`, for a validated query in class IN, with the OPT record of the reply. */
  answerChecked(query: Uint8Array, out: Uint8Array, at: number, { limit, opt }: ReplyLimits): number {
    this.#at = at;
    this.#limit = limit;
    this.#opt = opt;
    this.#optLength = opt?.length ?? 0;
    const nameEnd = this.#name.read(query, headerBytes, query.length);
    this.type = ((query[nameEnd] ?? 0) << 8) | (query[nameEnd + 1] ?? 0);
    return this.#lookUp(query, 0, out);
  }

  /** Parses an OPT record after the question, if any. Returns a response code or `needsFullParse`. */
  #readRest(query: Uint8Array, start: number, at: number, end: number, overUdp: boolean): number {
    this.#limit = overUdp ? smallestUdpReplyBytes : maxTcpReplyBytes;
    const answersAndAuthorities =
      (query[start + 6] ?? 0) | (query[start + 7] ?? 0) | (query[start + 8] ?? 0) | (query[start + 9] ?? 0);
    const additional = ((query[start + 10] ?? 0) << 8) | (query[start + 11] ?? 0);
    if (answersAndAuthorities !== 0 || additional > 2) return needsFullParse;
    if (additional === 0) return rcodes.NOERROR;
    const isOpt = query[at] === 0 && query[at + 1] === 0 && query[at + 2] === types.OPT;
    // A TSIG or two records.
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
    // Transfers and ANY queries need the slow path unless an answer was prepared.
    const isMeta = this.type >= types.TSIG - 1 && this.type <= types.ANY;
    if (isMeta || table.hasSlowTypes(block)) return toSlowPath;
    return this.#empty(query, start, out, table.zone(block), rcodes.NOERROR);
  }

  #negative(query: Uint8Array, start: number, out: Uint8Array): number {
    const { table } = this;
    const encloser = table.closest(this.#name);
    if (encloser === 0 || table.hasSlowDescendants(encloser)) return toSlowPath;
    const isTransfer = this.type === types.AXFR || this.type === types.IXFR;
    return isTransfer ? toSlowPath : this.#empty(query, start, out, table.zone(encloser), rcodes.NXDOMAIN);
  }

  #empty(query: Uint8Array, start: number, out: Uint8Array, zone: number, rcode: number): number {
    // The zone is not in the table, or not yet.
    if (zone === 0) return toSlowPath;
    this.#begin(query, start, out);
    const room = this.#limit - this.#optLength;
    // The longest question and the largest SOA record together exceed 512 bytes.
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
    if (records === tooLarge) return toSlowPath;
    this.#begin(query, start, out);
    const additional = halves[half + 2] ?? 0;
    const ends = half + answerHalves;
    const data = (ends + records + additional) * 2;
    const room = this.#limit - this.#optLength - (this.#end - this.#at);
    const size = halves[half + 3] ?? 0;
    const first = this.#rotate(records);
    const answers = size <= room ? records : fittingRecords(halves, ends, { records, first, room });
    this.#truncated = answers < records;
    this.#copyRotated(out, ends, records, first, answers, data);
    let extra = 0;
    if (!this.#truncated && additional > 0) extra = this.#copyAdditional(out, half, room);
    const counts = { rcode: rcodes.NOERROR, answers, authorities: 0, additional: extra, aa: 0x04 };
    return this.#finish(query, start, out, counts);
  }

  /**
   * The index of the first record. Steps of the golden ratio reach all records evenly, also for clients that alternate
   * between two types, which would see only every second record with a counter. PTR records are not rotated.
   */
  #rotate(records: number): number {
    if (records < 2 || this.type === recordTypes.PTR) return 0;
    this.#rotation = (this.#rotation + 0x9e3779b9) | 0;
    return Math.floor(((this.#rotation >>> 0) / 0x1_0000_0000) * records);
  }

  /** Copies `count` records starting with `first`, in at most two pieces. */
  #copyRotated(out: Uint8Array, ends: number, records: number, first: number, count: number, data: number): void {
    if (count === 0) return;
    const { halves } = this.table;
    const upTo = Math.min(first + count, records);
    const begin = first === 0 ? 0 : (halves[ends + first - 1] ?? 0);
    this.#copy(out, data + begin, (halves[ends + upTo - 1] ?? 0) - begin);
    const wrapped = first + count - records;
    if (wrapped > 0) this.#copy(out, data, halves[ends + wrapped - 1] ?? 0);
  }

  /** Copies the additional records that fit; returns their number. */
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

  /** Copies the question in its original case. */
  #begin(query: Uint8Array, start: number, out: Uint8Array): void {
    const at = this.#at;
    const end = headerBytes + this.#name.length + 4;
    for (let index = headerBytes; index < end; index++) out[at + index] = query[start + index] ?? 0;
    this.#end = at + end;
    this.#truncated = false;
  }

  /** Writes the OPT record and the header; returns the length of the reply. */
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
    // The CD flag is copied (RFC 4035 §3.1.6).
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

  /** A reply without records to a query whose question is valid. */
  #failed(query: Uint8Array, start: number, out: Uint8Array, rcode: number): number {
    this.#begin(query, start, out);
    return this.#finish(query, start, out, { rcode, answers: 0, authorities: 0, additional: 0, aa: 0 });
  }

  /** A reply with only a header, to a query that could not be parsed. */
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
