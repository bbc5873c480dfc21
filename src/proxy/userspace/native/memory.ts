import type { Libc } from './libc.ts';

/** Memory for system calls, and its address. */
export interface Memory {
  readonly bytes: Buffer;
  readonly address: number;
}

/** Allocates memory that is not moved while the result is referenced. */
export function allocate(libc: Libc, size: number): Memory {
  const bytes = Buffer.from(new ArrayBuffer(size));
  return { bytes, address: libc.addressOf(bytes) };
}

/** Allocates memory with this content. */
export function allocateWith(libc: Libc, content: Uint8Array): Memory {
  const memory = allocate(libc, content.length);
  memory.bytes.set(content);
  return memory;
}
