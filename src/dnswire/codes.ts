// Numbers of the DNS protocol, as IANA registers them.
import { recordTypes } from './data.ts';

/** Record and query types that some code treats specially. */
export const types = {
  ...recordTypes,
  MX: 15,
  HINFO: 13,
  NAPTR: 35,
  DNAME: 39,
  OPT: 41,
  SVCB: 64,
  HTTPS: 65,
  TSIG: 250,
  IXFR: 251,
  AXFR: 252,
  MAILB: 253,
  MAILA: 254,
  ANY: 255,
  CAA: 257,
} as const;

export const classes = { IN: 1, CH: 3, HS: 4, NONE: 254, ANY: 255 } as const;

export const opcodes = { QUERY: 0, STATUS: 2, NOTIFY: 4, UPDATE: 5 } as const;

/** Response codes. Codes above 15 need an OPT record for their upper bits. */
export const rcodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  YXDOMAIN: 6,
  YXRRSET: 7,
  NXRRSET: 8,
  NOTAUTH: 9,
  NOTZONE: 10,
  BADVERS: 16,
  BADCOOKIE: 23,
} as const;

/** Errors of TSIG records (RFC 8945 §3). */
export const tsigErrors = { BADSIG: 16, BADKEY: 17, BADTIME: 18, BADTRUNC: 22 } as const;

/** Bits of the second 16-bit word of a header. */
export const flagBits = { QR: 0x8000, AA: 0x0400, TC: 0x0200, RD: 0x0100, RA: 0x0080, AD: 0x0020, CD: 0x0010 } as const;

/** The DO bit in the ttl field of an OPT record. */
export const dnssecOkBit = 0x8000;

export const optionCodes = {
  NSID: 3,
  CLIENT_SUBNET: 8,
  EXPIRE: 9,
  COOKIE: 10,
  KEEPALIVE: 11,
  PADDING: 12,
  ERROR: 15,
  /** The servers that forwarded a query; a number for local use (RFC 6891 §9). */
  HOPS: 65_313,
} as const;

/** Extended errors (RFC 8914 §4). */
export const extendedErrors = {
  OTHER: 0,
  STALE_ANSWER: 3,
  CACHED_ERROR: 13,
  NOT_READY: 14,
  BLOCKED: 15,
  FILTERED: 17,
  PROHIBITED: 18,
  STALE_NXDOMAIN: 19,
  NOT_AUTHORITATIVE: 20,
  NOT_SUPPORTED: 21,
  NO_REACHABLE_AUTHORITY: 22,
  NETWORK_ERROR: 23,
} as const;

const typeNames = new Map<number, string>(Object.entries(types).map(([name, number]) => [number, name]));
const rcodeNames = new Map<number, string>(Object.entries(rcodes).map(([name, number]) => [number, name]));

/** The text of a type: its mnemonic, or `TYPE65280` (RFC 3597 §5). */
export const typeName = (type: number): string => typeNames.get(type) ?? `TYPE${type}`;

/** Parses a type, in any case; undefined if it is unknown. */
export function typeNumber(text: string): number | undefined {
  const upper = text.toUpperCase();
  const generic = /^TYPE(\d{1,5})$/.exec(upper);
  if (generic === null) return Object.hasOwn(types, upper) ? types[upper as keyof typeof types] : undefined;
  const number = Number(generic[1]);
  return number > 0xffff ? undefined : number;
}

/** The text of a response code. */
export const rcodeName = (rcode: number): string => rcodeNames.get(rcode) ?? `RCODE${rcode}`;
