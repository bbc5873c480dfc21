// Encodes answers in advance.
import type { PreparedAnswer, PreparedName, PreparedZone } from '../prepared.ts';
import { maxAnswerBytes } from '../prepared.ts';
import type { Name, RecordData, RecordSet, RecordType } from '../../dnswire/data.ts';
import { recordTypes } from '../../dnswire/data.ts';
import type { Zone, ZoneNode } from '../records/zones.ts';
import { classes } from '../../dnswire/codes.ts';
import { headerBytes } from '../../dnswire/message.ts';
import { encodeName, labelsOf } from '../../dnswire/name.ts';
import { concat, encodeRecord, soaNumbers, uint16s } from '../../dnswire/record.ts';
import type { Lookup } from './answer.ts';
import { addressesFor, negativeSoa } from './answer.ts';

export interface PrepareOptions {
  /** Whether queries for missing names below a node need the slow path, in addition to those that the zones require. */
  readonly isSlowBelow?: (node: ZoneNode) => boolean;
}

/** The answers of a name; undefined if it does not exist or is built on demand. */
export function prepare(zones: Lookup, name: Name, options: PrepareOptions = {}): PreparedName | undefined {
  const node = zones.find(name);
  if (node === undefined || node.onDemand) return undefined;
  const offsets = suffixOffsets(name);
  const answers = setsOf(node)
    .map((set) => (isTooLarge(node, set) ? tooLarge(set) : prepareSet(zones, set, offsets)))
    .filter(({ answers: records }) => records === undefined || records.length > 0);
  const slowPath = slowPathFor(node, options);
  return { name, zone: node.zone.apex, answers, ...(slowPath === undefined ? {} : { slowPath }) };
}

/** At an alias other records are hidden. */
function setsOf({ sets }: ZoneNode): readonly RecordSet[] {
  const alias = sets.get('CNAME');
  return alias === undefined ? [...sets.values()] : [alias];
}

/** The SOA of a zone for negative answers. */
export function prepareZone(zone: Zone): PreparedZone {
  const { ttl, data } = negativeSoa(zone.soa());
  const [soa] = data;
  if (soa?.type !== 'SOA') throw new Error(`bug: zone "${zone.apex}" has no SOA`);
  return { apex: zone.apex, soa, soaTtl: ttl };
}

function slowPathFor(node: ZoneNode, { isSlowBelow }: PrepareOptions): PreparedName['slowPath'] {
  if (node.sets.has('CNAME')) return 'types';
  // Missing names of a zone with fallthrough are forwarded.
  return node.dynamic || node.zone.fallthrough || isSlowBelow?.(node) === true ? 'descendants' : undefined;
}

/** Name → its offset in the question. */
type Offsets = ReadonlyMap<Name, number>;

/** Owner as a pointer, type, class, TTL and length. */
const recordHeaderBytes = 12;
/** Type → the least size of its data; 1 for all others. */
const leastDataBytes: Readonly<Partial<Record<RecordType, number>>> = { A: 4, AAAA: 16, SRV: 7 };

/**
 * Whether the records of a set certainly exceed an answer. Then they are not merged either, which is most of the work for a
 * Service with thousands of endpoints. Duplicates count: if the rest fits, the slow path answers.
 */
const isTooLarge = (node: ZoneNode, { type }: RecordSet): boolean =>
  node.countOf(type) * (recordHeaderBytes + (leastDataBytes[type] ?? 1)) > maxAnswerBytes;

const tooLarge = ({ type }: RecordSet): PreparedAnswer => ({
  type: recordTypes[type],
  answers: undefined,
  additional: [],
});

function prepareSet(zones: Lookup, set: RecordSet, offsets: Offsets): PreparedAnswer {
  const answers = encodeSet(set, offsets);
  // Additional addresses must fit together with the answers.
  let room = maxAnswerBytes;
  for (const { length } of answers) room -= length;
  if (room < 0) return tooLarge(set);
  const additional: Uint8Array[] = [];
  for (const addresses of addressesFor(zones, set)) {
    const records = encodeSet(addresses, offsets);
    for (const { length } of records) room -= length;
    if (room < 0) break;
    additional.push(...records);
  }
  return { type: recordTypes[set.type], answers, additional };
}

/** The encoded records of a set, without those that cannot be encoded. Names are compressed against the question. */
function encodeSet({ owner, type, ttl, data }: RecordSet, offsets: Offsets): readonly Uint8Array[] {
  const ownerBytes = encodeCompressed(owner, offsets);
  if (ownerBytes === undefined) return [];
  const fields = uint16s(recordTypes[type], classes.IN, Math.floor(ttl / 0x1_0000), ttl & 0xffff, 0);
  const start = concat([ownerBytes, fields]);
  const encoded: Uint8Array[] = [];
  for (const each of data) {
    const bytes = encodeData(each, offsets);
    if (bytes === undefined) continue;
    const record = concat([start, bytes]);
    record.set(uint16s(bytes.length), start.length - 2);
    encoded.push(record);
  }
  return encoded;
}

function encodeData(data: RecordData, offsets: Offsets): Uint8Array | undefined {
  if (data.type === 'NS' || data.type === 'CNAME' || data.type === 'PTR') return encodeCompressed(data.target, offsets);
  if (data.type !== 'SOA') return encodeRecord(data);
  const primary = encodeCompressed(data.primary, offsets);
  const mailbox = encodeCompressed(data.mailbox, offsets);
  return primary && mailbox && concat([primary, mailbox, soaNumbers(data)]);
}

/** The offsets of the suffixes of a name in its question. */
function suffixOffsets(name: Name): Offsets {
  const offsets = new Map<Name, number>();
  const wire = encodeName(name);
  let suffix = name;
  let at = 0;
  for (const label of labelsOf(name)) {
    offsets.set(suffix, headerBytes + at);
    at += (wire?.[at] ?? 0) + 1;
    suffix = suffix.slice(label.length + 1);
  }
  return offsets;
}

function encodeCompressed(name: Name, offsets: Offsets): Uint8Array | undefined {
  const wire = encodeName(name);
  if (wire === undefined) return undefined;
  let suffix = name;
  let at = 0;
  for (const label of labelsOf(name)) {
    const offset = offsets.get(suffix);
    if (offset !== undefined) return concat([wire.subarray(0, at), uint16s(0xc000 | offset)]);
    at += (wire[at] ?? 0) + 1;
    suffix = suffix.slice(label.length + 1);
  }
  return wire;
}
