// Values in etcd: the value of the store, with its position in the batch that wrote it as white space at the end.

import { bytesOfValue, valueOfBytes } from '../bytes.ts';

const bits = 7;
const trailerLength = bits + 2;
const [newLine, space, tab] = [0x0a, 0x20, 0x09];

/** The value to store. Position 0 has no trailer, so that an unbatched value is stored as it is. */
export function encodeValue(value: string, position: number): Buffer {
  const bytes = bytesOfValue(value);
  if (position === 0 && positionIn(bytes) === undefined) return bytes;
  const trailer = Buffer.alloc(trailerLength, newLine);
  for (let bit = 0; bit < bits; bit++) trailer[1 + bit] = (position >> bit) & 1 ? tab : space;
  return Buffer.concat([bytes, trailer]);
}

/** The value as a kube-apiserver stores it, which shares the prefix: encrypted bytes are not base64. */
export function encodeShared(value: string): Buffer {
  const [head] = /^k8s:enc:(?:aesgcm|aescbc|secretbox):v1:[^:]*:/.exec(value) ?? [];
  if (head === undefined) return encodeValue(value, 0);
  return Buffer.concat([Buffer.from(head), Buffer.from(value.slice(head.length), 'base64')]);
}

export function decodeValue(bytes: Uint8Array): { readonly value: string; readonly position: number } {
  const position = positionIn(bytes);
  if (position === undefined) return { value: valueOfBytes(bytes), position: 0 };
  return { value: valueOfBytes(bytes.subarray(0, -trailerLength)), position };
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
