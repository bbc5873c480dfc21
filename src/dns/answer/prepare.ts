// Answers made before they are asked for.
import type { PreparedAnswer, PreparedName, PreparedZone } from '../prepared.ts';
import type { Name, RecordData, RecordSet } from '../../dnswire/data.ts';
import { recordTypes } from '../../dnswire/data.ts';
import type { Zone, ZoneNode } from '../records/zones.ts';
import { classes } from '../../dnswire/codes.ts';
import { headerBytes } from '../../dnswire/message.ts';
import { encodeName, labelsOf } from '../../dnswire/name.ts';
import { concat, encodeRecord, soaNumbers, uint16s } from '../../dnswire/record.ts';
import type { Lookup } from './answer.ts';
import { addressesFor, negativeSoa } from './answer.ts';

/** What a message over TCP can hold. */
const maxMessageBytes = 0xffff;

export interface PrepareOptions {
  /** Whether names below this one that do not exist must be asked for, besides those that zones know of. */
  readonly isSlowBelow?: (node: ZoneNode) => boolean;
  /** Leave out addresses that were not asked for; false by default. */
  readonly minimal?: boolean;
}

/** The answers of a name; undefined if it does not exist, or is made on demand and has none of its own. */
export function prepare(zones: Lookup, name: Name, options: PrepareOptions = {}): PreparedName | undefined {
  const node = zones.find(name);
  if (node === undefined || node.onDemand) return undefined;
  const offsets = suffixOffsets(name);
  const answers = setsOf(node)
    .map((set) => prepareSet(zones, set, { offsets, minimal: options.minimal ?? false }))
    .filter((each) => each.answers.length > 0);
  const slowPath = slowPathFor(node, options);
  return { name, zone: node.zone.apex, answers, ...(slowPath === undefined ? {} : { slowPath }) };
}

/** At an alias there is nothing else to tell, whatever else is said of it. */
function setsOf({ sets }: ZoneNode): readonly RecordSet[] {
  const alias = sets.get('CNAME');
  return alias === undefined ? [...sets.values()] : [alias];
}

/** What the negative answers of a zone need. */
export function prepareZone(zone: Zone): PreparedZone {
  const { ttl, data } = negativeSoa(zone.soa());
  const [soa] = data;
  if (soa?.type !== 'SOA') throw new Error(`bug: zone "${zone.apex}" has no SOA`);
  return { apex: zone.apex, soa, soaTtl: ttl };
}

function slowPathFor(node: ZoneNode, { isSlowBelow }: PrepareOptions): PreparedName['slowPath'] {
  if (node.sets.has('CNAME')) return 'types';
  // What does not exist in a zone that falls through is asked upstream.
  return node.dynamic || node.zone.fallthrough || isSlowBelow?.(node) === true ? 'descendants' : undefined;
}

interface SetContext {
  /** Name → where it stands in the question. */
  readonly offsets: ReadonlyMap<Name, number>;
  readonly minimal: boolean;
}

function prepareSet(zones: Lookup, set: RecordSet, { offsets, minimal }: SetContext): PreparedAnswer {
  const answers = encodeSet(set, offsets);
  // Addresses are added to whole answers only, so that what no message has room for is never sent.
  let room = maxMessageBytes - headerBytes;
  for (const { length } of answers) room -= length;
  const additional: Uint8Array[] = [];
  if (!minimal && room > 0) {
    for (const addresses of addressesFor(zones, set)) {
      const records = encodeSet(addresses, offsets);
      for (const { length } of records) room -= length;
      if (room < 0) break;
      additional.push(...records);
    }
  }
  return { type: recordTypes[set.type], answers, additional };
}

/** The records of a set that can be sent. Names in them point into the question where its end is theirs. */
function encodeSet({ owner, type, ttl, data }: RecordSet, offsets: ReadonlyMap<Name, number>): readonly Uint8Array[] {
  const ownerBytes = encodePointing(owner, offsets);
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

function encodeData(data: RecordData, offsets: ReadonlyMap<Name, number>): Uint8Array | undefined {
  if (data.type === 'NS' || data.type === 'CNAME' || data.type === 'PTR') return encodePointing(data.target, offsets);
  if (data.type !== 'SOA') return encodeRecord(data);
  const primary = encodePointing(data.primary, offsets);
  const mailbox = encodePointing(data.mailbox, offsets);
  return primary && mailbox && concat([primary, mailbox, soaNumbers(data)]);
}

/** Where each ending of a name stands in a question for it. */
function suffixOffsets(name: Name): ReadonlyMap<Name, number> {
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

function encodePointing(name: Name, offsets: ReadonlyMap<Name, number>): Uint8Array | undefined {
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
