import { open } from 'node:fs/promises';

/** A kubeconfig, a token or a certificate is shorter by far; a device, or a file named by mistake, need not end at all. */
const mostFileBytes = 16 << 20;

/** Reads a text file that is not longer than `mostFileBytes`. */
export async function readShortFile(path: string): Promise<string> {
  await using file = await open(path);
  const pieces: Buffer[] = [];
  for (let length = 0; ;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(64 << 10));
    if (bytesRead === 0) return Buffer.concat(pieces).toString();
    length += bytesRead;
    if (length > mostFileBytes) throw new Error(`${path} is longer than ${mostFileBytes} bytes`);
    pieces.push(buffer.subarray(0, bytesRead));
  }
}
