// Signatures of messages with a shared secret (RFC 8945).
import { createHmac, timingSafeEqual } from 'node:crypto';
import { classes, tsigErrors, types } from './codes.ts';
import type { Name } from './data.ts';
import { headerBytes, readHeader, readQuestion } from './message.ts';
import { encodeName, readName } from './name.ts';
import type { RawRecord } from './record.ts';
import { concat, readRecord, readUint16, readUint32, uint16s } from './record.ts';

/** Algorithm → the hash function. */
const hashes = {
  'hmac-md5': 'md5',
  'hmac-sha1': 'sha1',
  'hmac-sha224': 'sha224',
  'hmac-sha256': 'sha256',
  'hmac-sha384': 'sha384',
  'hmac-sha512': 'sha512',
} as const;

export type TsigAlgorithm = keyof typeof hashes;

/** All algorithms. */
export const tsigAlgorithms = Object.keys(hashes) as readonly TsigAlgorithm[]; // the keys of a literal

/** The name of an algorithm on the wire. */
const wireName = (algorithm: TsigAlgorithm): Name =>
  algorithm === 'hmac-md5' ? 'hmac-md5.sig-alg.reg.int' : algorithm;

/** A shared secret. */
export interface TsigKey {
  readonly name: Name;
  readonly algorithm: TsigAlgorithm;
  readonly secret: Uint8Array;
}

/** How far the clocks of client and server may differ. */
const fudgeSeconds = 300;

/** The most bytes that a signature adds to a message: two names, a MAC of 64 bytes, and the fixed fields. */
export const maxTsigBytes = (key: TsigKey): number => key.name.length + 26 + 2 + 64 + 28;

/** RFC 8945 §5.3.1: the most messages of an answer in a row without a signature. */
const maxUnsigned = 99;

/** The result of checking a message of an answer. */
export type TsigVerdict =
  | { readonly state: 'valid' }
  /** A message between two signed ones. It is valid once a later one is. */
  | { readonly state: 'pending' }
  /** The server did not sign its answer: it must not be taken for a result. */
  | { readonly state: 'unsigned' }
  /** The server rejected the signature of the query. `isVerified`: the rejection itself is signed. */
  | {
      readonly state: 'rejected';
      readonly error: number;
      readonly isVerified: boolean;
      /** The clock of the server, with BADTIME. */
      readonly serverSeconds?: number;
    }
  /** The signature is not of this key, or the message was changed. */
  | { readonly state: 'forged' }
  /** The answer was signed at a time too far from ours. */
  | { readonly state: 'mistimed'; readonly serverSeconds: number }
  | { readonly state: 'malformed' };

interface TsigFields {
  readonly owner: Name;
  readonly algorithm: Name;
  readonly seconds: number;
  readonly fudge: number;
  readonly mac: Uint8Array;
  readonly originalId: number;
  readonly error: number;
  readonly other: Uint8Array;
}

/** Signs one query and checks all messages of its answer. */
export class TsigExchange {
  readonly #key: TsigKey;
  /** The wall clock in seconds. */
  readonly #now: () => number;
  /** The MAC of the query, then of each signed message of the answer. */
  #lastMac: Uint8Array = new Uint8Array();
  #isFirst = true;
  /** The messages since the last signed one. */
  #unsigned: Uint8Array[] = [];

  constructor(key: TsigKey, now: () => number) {
    this.#key = key;
    this.#now = now;
  }

  /** The query with its signature. Nothing may be appended. */
  sign(query: Uint8Array): Uint8Array {
    const { name, algorithm } = this.#key;
    const fields = { owner: name, algorithm: wireName(algorithm), seconds: this.#now(), fudge: fudgeSeconds };
    const rest = { error: 0, other: new Uint8Array() };
    this.#lastMac = this.#mac([query, variables({ ...fields, ...rest })]);
    const originalId = readUint16(query, 0);
    const signed = concat([query, encodeTsig({ ...fields, ...rest, mac: this.#lastMac, originalId })]);
    signed.set(uint16s(readUint16(query, 10) + 1), 10);
    return signed;
  }

  /** Checks the next message of the answer. */
  verify(message: Uint8Array): TsigVerdict {
    const parsed = splitTsig(message);
    if (parsed === undefined) return { state: 'malformed' };
    const { unsigned, tsig } = parsed;
    if (tsig === undefined) return this.#acceptUnsigned(message);
    const { error } = tsig;
    const known = tsig.owner === this.#key.name && tsig.algorithm === wireName(this.#key.algorithm);
    const parts = [
      uint16s(this.#lastMac.length),
      this.#lastMac,
      ...this.#unsigned,
      unsigned,
      this.#isFirst ? variables(tsig) : timers(tsig),
    ];
    const expected = this.#mac(parts);
    const isVerified = known && expected.length === tsig.mac.length && timingSafeEqual(expected, tsig.mac);
    if (error !== 0) {
      const serverSeconds = error === tsigErrors.BADTIME && tsig.other.length === 6 ? uint48(tsig.other) : undefined;
      return { state: 'rejected', error, isVerified, ...(serverSeconds === undefined ? {} : { serverSeconds }) };
    }
    if (!isVerified) return { state: 'forged' };
    if (Math.abs(this.#now() - tsig.seconds) > tsig.fudge) return { state: 'mistimed', serverSeconds: tsig.seconds };
    this.#lastMac = tsig.mac;
    this.#isFirst = false;
    this.#unsigned = [];
    return { state: 'valid' };
  }

  /** Whether the last message that was checked was signed: the last of an answer must be. */
  get isComplete(): boolean {
    return !this.#isFirst && this.#unsigned.length === 0;
  }

  #acceptUnsigned(message: Uint8Array): TsigVerdict {
    if (this.#isFirst || this.#unsigned.length === maxUnsigned) return { state: 'unsigned' };
    this.#unsigned.push(message);
    return { state: 'pending' };
  }

  #mac(parts: readonly Uint8Array[]): Uint8Array {
    const hmac = createHmac(hashes[this.#key.algorithm], this.#key.secret);
    for (const part of parts) hmac.update(part);
    return hmac.digest();
  }
}

/** The fields of a TSIG record that the MAC covers, beside the message (RFC 8945 §4.3.3). */
function variables({ owner, algorithm, error, other, ...times }: Omit<TsigFields, 'mac' | 'originalId'>): Uint8Array {
  return concat([
    wireOf(owner),
    uint16s(classes.ANY, 0, 0),
    wireOf(algorithm),
    timers(times),
    uint16s(error, other.length),
    other,
  ]);
}

const timers = ({ seconds, fudge }: Pick<TsigFields, 'seconds' | 'fudge'>): Uint8Array =>
  uint16s(Math.floor(seconds / 2 ** 32), Math.floor(seconds / 2 ** 16) & 0xffff, seconds & 0xffff, fudge);

function encodeTsig({ owner, algorithm, mac, originalId, error, other, ...times }: TsigFields): Uint8Array {
  const data = concat([
    wireOf(algorithm),
    timers(times),
    uint16s(mac.length),
    mac,
    uint16s(originalId, error, other.length),
    other,
  ]);
  return concat([wireOf(owner), uint16s(types.TSIG, classes.ANY, 0, 0, data.length), data]);
}

/** Names of keys and algorithms are checked when a key is read. */
function wireOf(name: Name): Uint8Array {
  const wire = encodeName(name);
  if (wire === undefined) throw new Error(`bug: "${name}" cannot be encoded`);
  return wire;
}

/** The message as it was signed, and its signature; undefined if it is malformed. */
function splitTsig(
  message: Uint8Array,
): { readonly unsigned: Uint8Array; readonly tsig: TsigFields | undefined } | undefined {
  const header = readHeader(message);
  if (header === undefined) return undefined;
  let at = headerBytes;
  for (let count = 0; count < header.questions; count++) {
    const read = readQuestion(message, at);
    if (read === undefined) return undefined;
    at = read.end;
  }
  let last: { readonly record: RawRecord; readonly start: number } | undefined;
  for (let left = header.answers + header.authorities + header.additionals; left > 0; left--) {
    const read = readRecord(message, at);
    if (read === undefined) return undefined;
    last = { record: read.record, start: at };
    at = read.end;
  }
  if (last?.record.type !== types.TSIG || header.additionals === 0) return { unsigned: message, tsig: undefined };
  const tsig = readTsig(last.record);
  if (tsig === undefined) return undefined;
  const unsigned = message.slice(0, last.start);
  unsigned.set(uint16s(tsig.originalId), 0);
  unsigned.set(uint16s(header.additionals - 1), 10);
  return { unsigned, tsig };
}

function readTsig({ owner, data }: RawRecord): TsigFields | undefined {
  const algorithm = readName(data, 0);
  if (algorithm === undefined) return undefined;
  const at = algorithm.end;
  const macEnd = at + 10 + readUint16(data, at + 8);
  const end = macEnd + 6 + readUint16(data, macEnd + 4);
  if (end !== data.length) return undefined;
  return {
    owner,
    algorithm: algorithm.name,
    seconds: uint48(data.subarray(at)),
    fudge: readUint16(data, at + 6),
    mac: data.subarray(at + 10, macEnd),
    originalId: readUint16(data, macEnd),
    error: readUint16(data, macEnd + 2),
    other: data.subarray(macEnd + 6),
  };
}

const uint48 = (bytes: Uint8Array): number => readUint16(bytes, 0) * 2 ** 32 + readUint32(bytes, 2);
