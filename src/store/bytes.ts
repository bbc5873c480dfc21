// Values are text. Bytes of other programs that are not UTF-8, such as protobuf messages of a kube-apiserver, are base64.

import { isUtf8 } from 'node:buffer';

/** Begins a value that is not text. */
const binaryPrefix = 'k8s:base64:';

/** The value for these bytes. */
export function valueOfBytes(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return isUtf8(buffer) ? buffer.toString() : binaryPrefix + buffer.toString('base64');
}

/** The bytes of a value. */
export const bytesOfValue = (value: string): Buffer<ArrayBuffer> =>
  value.startsWith(binaryPrefix) ? Buffer.from(value.slice(binaryPrefix.length), 'base64') : Buffer.from(value);
