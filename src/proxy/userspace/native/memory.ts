import type { Libc } from './libc.ts';

/** Memory that calls of the system read and write, and its address. */
export interface Memory {
  readonly bytes: Buffer;
  readonly address: number;
}

/** Memory that stays where it is as long as it is kept. */
export function allocate(libc: Libc, size: number): Memory {
  const bytes = Buffer.from(new ArrayBuffer(size));
  return { bytes, address: libc.addressOf(bytes) };
}

/** Memory with these bytes in it. */
export function allocateWith(libc: Libc, content: Uint8Array): Memory {
  const memory = allocate(libc, content.length);
  memory.bytes.set(content);
  return memory;
}
