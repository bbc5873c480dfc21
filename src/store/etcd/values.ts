// Values in etcd: the value of the store, with its position in the batch that wrote it as white space at the end. Values
// of other programs, such as the protobuf messages of a kube-apiserver, may not be text: in the store they are base64.

import { isUtf8 } from 'node:buffer';

/** Begins a value of the store that is not text in etcd. */
const binaryPrefix = 'k8s:base64:';

const bits = 7;
const trailerLength = bits + 2;
const [newLine, space, tab] = [0x0a, 0x20, 0x09];

/** The value to store. Position 0 has no trailer, so that an unbatched value is stored as it is. */
export function encodeValue(value: string, position: number): Buffer {
  if (value.startsWith(binaryPrefix)) return Buffer.from(value.slice(binaryPrefix.length), 'base64');
  const bytes = Buffer.from(value);
  if (position === 0 && positionIn(bytes) === undefined) return bytes;
  const trailer = Buffer.alloc(trailerLength, newLine);
  for (let bit = 0; bit < bits; bit++) trailer[1 + bit] = (position >> bit) & 1 ? tab : space;
  return Buffer.concat([bytes, trailer]);
}

export function decodeValue(bytes: Uint8Array): { readonly value: string; readonly position: number } {
  const position = positionIn(bytes);
  if (!isUtf8(bytes)) return { value: binaryPrefix + Buffer.from(bytes).toString('base64'), position: 0 };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length - (position === undefined ? 0 : trailerLength));
  return { value: text.toString(), position: position ?? 0 };
}

function positionIn(bytes: Uint8Array): number | undefined {
  const start = bytes.length - trailerLength;
  if (start < 0 || bytes[start] !== newLine || bytes[bytes.length - 1] !== newLine) return undefined;
  let position = 0;
  for (let bit = 0; bit < bits; bit++) {
    const byte = bytes[start + 1 + bit];
    if (byte === tab) position |= 1 << bit;
    else if (byte !== space) return undefined;
  }
  return position;
}

/** The fields of a record that the store keeps for itself; any may be missing. */
export function parseRecord<T>(value: Uint8Array): Partial<T> {
  try {
    const read: unknown = JSON.parse(Buffer.from(value).toString());
    return typeof read === 'object' && read !== null ? read : {};
  } catch {
    return {}; // another program wrote it
  }
}
