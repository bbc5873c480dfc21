// Reads answers in the block of a name; layout.ts has the format.
import { maxLabelBytes } from '../../dnswire/name.ts';
import { answerHalves, nameBytes, tooLarge } from './layout.ts';
import type { TableReader } from './lookup.ts';

/** The position of the answer for a type in the block of a name, as an index of 16-bit numbers; 0 if there is none. */
export function findAnswer({ words, halves }: TableReader, block: number, nameLength: number, type: number): number {
  let left = (words[(block >> 2) + 2] ?? 0) & 0xff;
  let half = (block + nameBytes + nameLength + 1) >> 1;
  for (; left > 0; left--) {
    if (halves[half] === type) return half;
    const records = halves[half + 1] ?? 0;
    const count = (records === tooLarge ? 0 : records) + (halves[half + 2] ?? 0);
    half += answerHalves + count + (((halves[half + 3] ?? 0) + (halves[half + 4] ?? 0) + 1) >> 1);
  }
  return 0;
}

/** How many records, starting with `first`, fit; `ends` is the index of their end offsets. */
export function fittingRecords(
  halves: Uint16Array,
  ends: number,
  { records, first, room }: { readonly records: number; readonly first: number; readonly room: number },
): number {
  let used = 0;
  for (let count = 0; count < records; count++) {
    const index = (first + count) % records;
    used += (halves[ends + index] ?? 0) - (index === 0 ? 0 : (halves[ends + index - 1] ?? 0));
    if (used > room) return count;
  }
  return records;
}

/**
 * How many additional records fit after the answers. Omitting them is not truncation (RFC 2181 §9), but only whole sets may
 * be omitted: clients would take a partial set for the complete one.
 */
export function fittingAdditional(
  table: TableReader,
  ends: number,
  { records, additional, room }: { readonly records: number; readonly additional: number; readonly room: number },
): number {
  const { halves } = table;
  let count = additional;
  while (count > 0 && (halves[ends + records + count - 1] ?? 0) > room) count--;
  if (count === additional) return count;
  const data = (ends + records + additional) * 2;
  while (count > 0 && isOneSet(table, ends, records + count, data)) count--;
  return count;
}

/** Whether a record and the one previous it have the same owner and type. */
function isOneSet({ bytes, halves }: TableReader, ends: number, record: number, data: number): boolean {
  const previous = data + (record < 2 ? 0 : (halves[ends + record - 2] ?? 0));
  const start = data + (halves[ends + record - 1] ?? 0);
  const typeEnd = nameEnd(bytes, start) + 2;
  for (let at = start; at < typeEnd; at++) if (bytes[at] !== bytes[previous + at - start]) return false;
  return true;
}

/** The offset after a name in one of our blocks: it ends with a zero byte or a pointer. */
function nameEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while ((bytes[at] ?? 0) > 0 && (bytes[at] ?? 0) <= maxLabelBytes) at += (bytes[at] ?? 0) + 1;
  return bytes[at] === 0 ? at + 1 : at + 2;
}
