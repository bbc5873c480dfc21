import type { PreparedAnswer, PreparedName } from '../prepared.ts';
import type { Arena } from './arena.ts';
import { answerHalves, slowDescendantsFlag, slowTypesFlag, nameBytes, tooLarge } from './layout.ts';

/** The contents of the block of a name. */
export interface NameBlock {
  readonly prepared: PreparedName;
  /** The encoded name. */
  readonly name: Uint8Array;
  readonly hash: number;
  /** The number of its zone. */
  readonly zone: number;
  /** The size of the block. */
  readonly units: number;
}

/** Writes a name and its answers into the block at an offset in bytes. */
export function writeName(arena: Arena, block: number, { prepared, name, hash, zone, units }: NameBlock): void {
  const { bytes, words } = arena;
  const { slowPath, answers } = prepared;
  const flags = slowPath === undefined ? 0 : slowPath === 'types' ? slowTypesFlag : slowDescendantsFlag;
  words[block >> 2] = hash;
  words[(block >> 2) + 1] = name.length | (flags << 8) | (zone << 16);
  words[(block >> 2) + 2] = answers.length | (units << 8);
  bytes.set(name, block + nameBytes);
  let at = evenUp(block + nameBytes + name.length);
  for (const answer of answers) at = writeAnswer(arena, at, answer);
}

function writeAnswer(
  { bytes, halves }: Arena,
  at: number,
  { type, answers: records, additional }: PreparedAnswer,
): number {
  const half = at >> 1;
  halves[half] = type;
  halves[half + 1] = records === undefined ? tooLarge : records.length;
  halves[half + 2] = additional.length;
  const all = [...(records ?? []), ...additional];
  const data = at + (answerHalves + all.length) * 2;
  let end = 0;
  let recordsEnd = 0;
  for (const [index, record] of all.entries()) {
    bytes.set(record, data + end);
    end += record.length;
    if (index === (records?.length ?? 0) - 1) recordsEnd = end;
    // End offsets count from the first record, also those of additional records.
    halves[half + answerHalves + index] = end;
  }
  halves[half + 3] = recordsEnd;
  halves[half + 4] = end - recordsEnd;
  return evenUp(data + end);
}

const evenUp = (at: number): number => at + (at & 1);
const totalBytes = (records: readonly Uint8Array[]): number => records.reduce((sum, { length }) => sum + length, 0);

/** The size of the block of a name. */
export function nameBlockBytes(name: Uint8Array, answers: readonly PreparedAnswer[]): number {
  let bytes = evenUp(nameBytes + name.length);
  for (const answer of answers) {
    const { answers: records = [], additional } = answer;
    const numbers = (answerHalves + records.length + additional.length) * 2;
    bytes += evenUp(numbers + totalBytes(records) + totalBytes(additional));
  }
  return bytes;
}
