// Converts domain names between compressed bytes, plain bytes and text (`Name`).
import type { Name } from './data.ts';

/** The maximum size of a name on the wire, with its final zero (RFC 1035 §2.3.4). */
export const maxNameBytes = 255;
/** The maximum size of a label. */
export const maxLabelBytes = 63;

const dotByte = 0x2e;
const backslashByte = 0x5c;

/** Byte → its text in a `Name`. */
const printed: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  if (char === '.' || char === '\\') return `\\${char}`;
  if (byte <= 0x20 || byte >= 0x7f) return `\\${String(byte).padStart(3, '0')}`;
  return char.toLowerCase();
});

interface LabelsAt {
  /** The offsets of the length bytes of the labels. */
  readonly starts: readonly number[];
  /** The size of the name without compression. */
  readonly length: number;
  /** The offset after the name. */
  readonly end: number;
}

/**
 * Follows the pointers of a name. Each must lead before everything followed so far, which bounds the work by the length of
 * the message.
 */
function labelsAt(bytes: Uint8Array, offset: number): LabelsAt | undefined {
  const starts: number[] = [];
  let length = 1;
  let end = -1;
  let earliest = offset;
  for (let at = offset; ;) {
    const size = bytes[at];
    if (size === undefined) return undefined;
    if (size === 0) return { starts, length, end: end === -1 ? at + 1 : end };
    if (size <= maxLabelBytes) {
      length += size + 1;
      if (length > maxNameBytes || at + size >= bytes.length) return undefined;
      starts.push(at);
      at += size + 1;
      continue;
    }
    const low = bytes[at + 1];
    // Label types 0x40 and 0x80 are unused (RFC 6891 §5).
    if (size < 0xc0 || low === undefined) return undefined;
    if (end === -1) end = at + 2;
    at = ((size & 0x3f) << 8) | low;
    if (at >= earliest) return undefined;
    earliest = at;
  }
}

/** Parses the name at an offset; `end` is the offset after it; undefined if it is malformed. */
export function readName(bytes: Uint8Array, offset: number): { readonly name: Name; readonly end: number } | undefined {
  const found = labelsAt(bytes, offset);
  if (found === undefined) return undefined;
  let name = '';
  for (const start of found.starts) {
    if (name !== '') name += '.';
    const last = start + (bytes[start] ?? 0);
    for (let at = start + 1; at <= last; at++) name += printed[bytes[at] ?? 0] ?? '';
  }
  return { name, end: found.end };
}

/** As `readName`, but returns the bytes of the name without pointers, in their original case. */
export function expandName(
  bytes: Uint8Array,
  offset: number,
): { readonly wire: Uint8Array; readonly end: number } | undefined {
  const found = labelsAt(bytes, offset);
  if (found === undefined) return undefined;
  const wire = new Uint8Array(found.length);
  let length = 0;
  for (const start of found.starts) {
    const size = (bytes[start] ?? 0) + 1;
    wire.set(bytes.subarray(start, start + size), length);
    length += size;
  }
  return { wire, end: found.end };
}

/** The labels of a name, first to last, still escaped. */
export function labelsOf(name: Name): readonly string[] {
  if (name === '') return [];
  if (!name.includes('\\')) return name.split('.');
  const labels: string[] = [];
  let start = 0;
  for (let at = 0; at < name.length; at++) {
    if (name[at] === '\\') at++;
    else if (name[at] === '.') {
      labels.push(name.slice(start, at));
      start = at + 1;
    }
  }
  return [...labels, name.slice(start)];
}

/** The name without its first label; undefined for the root. */
export function parentOf(name: Name): Name | undefined {
  if (name === '') return undefined;
  let dot = name.indexOf('.');
  while (dot > 0 && isEscaped(name, dot)) dot = name.indexOf('.', dot + 1);
  return dot < 0 ? '' : name.slice(dot + 1);
}

/** Whether a name is `ancestor` or below it. */
export function isWithin(name: Name, ancestor: Name): boolean {
  if (ancestor === '' || name === ancestor) return true;
  const dot = name.length - ancestor.length - 1;
  return dot > 0 && name.charCodeAt(dot) === dotByte && name.endsWith(ancestor) && !isEscaped(name, dot);
}

/** Whether a character is escaped: an odd number of backslashes precedes it. */
function isEscaped(name: Name, index: number): boolean {
  let backslashes = 0;
  while (name.charCodeAt(index - 1 - backslashes) === backslashByte) backslashes++;
  return backslashes % 2 === 1;
}

/** Encodes a name without compression; undefined if a label is empty or too long, or the name is too long. */
export function encodeName(name: Name): Uint8Array | undefined {
  if (name === '') return new Uint8Array(1);
  return name.includes('\\') ? encodeEscaped(name) : encodePlain(name);
}

/** Encodes a name without escapes: each dot becomes the length of the next label. */
function encodePlain(name: Name): Uint8Array | undefined {
  const { length } = name;
  if (length + 2 > maxNameBytes) return undefined;
  const wire = new Uint8Array(length + 2);
  let lengthAt = 0;
  for (let at = 0; at < length; at++) {
    const byte = name.charCodeAt(at);
    if (byte === dotByte) {
      if (!isLabelSize(at - lengthAt)) return undefined;
      wire[lengthAt] = at - lengthAt;
      lengthAt = at + 1;
    } else if (byte <= 0x20 || byte >= 0x7f) return undefined;
    else wire[at + 1] = byte;
  }
  if (!isLabelSize(length - lengthAt)) return undefined;
  wire[lengthAt] = length - lengthAt;
  return wire;
}

const isLabelSize = (size: number): boolean => size > 0 && size <= maxLabelBytes;

function encodeEscaped(name: Name): Uint8Array | undefined {
  const wire = new Uint8Array(maxNameBytes);
  let length = 0;
  for (const label of labelsOf(name)) {
    const size = writeLabel(label, wire, length + 1);
    if (size === undefined || size === 0) return undefined;
    wire[length] = size;
    length += size + 1;
    if (length >= maxNameBytes) return undefined;
  }
  return wire.slice(0, length + 1);
}

/** Writes the bytes of a label and returns their number; undefined if it is too long or malformed. */
function writeLabel(label: string, into: Uint8Array, offset: number): number | undefined {
  let size = 0;
  for (let at = 0; at < label.length; at++) {
    let byte = label.charCodeAt(at);
    if (byte <= 0x20 || byte >= 0x7f) return undefined;
    if (byte === backslashByte) {
      const digits = /^\d{3}/.exec(label.slice(at + 1, at + 4))?.[0];
      byte = digits === undefined ? label.charCodeAt(at + 1) : Number(digits);
      at += digits?.length ?? 1;
    }
    // NaN after a backslash at the end.
    if (!(byte <= 0xff) || size === maxLabelBytes) return undefined;
    into[offset + size] = byte;
    size++;
  }
  return size;
}

/** Parses user input, with or without a trailing dot; undefined if it is not a domain name. */
export function parseName(text: string): Name | undefined {
  if (text === '.') return '';
  const isAbsolute = text.endsWith('.') && !/(?:^|[^\\])(?:\\\\)*\\\.$/.test(text);
  const wire = encodeName(isAbsolute ? text.slice(0, -1) : text);
  return text === '' || wire === undefined ? undefined : readName(wire, 0)?.name;
}

/** The text of a name in zone file format, with a trailing dot. */
export const printName = (name: Name): string => `${name}.`;
