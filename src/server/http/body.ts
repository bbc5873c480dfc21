import { badRequest } from '../../api/errors.ts';
import { tooLarge } from '../reply.ts';
import type { Incoming } from './messages.ts';

/** The whole body; rejects with a 413 past `limit` bytes, without reading on. */
export function readBody(incoming: Incoming, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(incoming.headers['content-length'] ?? 0) > limit) {
      incoming.resume();
      reject(tooLarge(limit));
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else {
        chunks.length = 0;
        reject(tooLarge(limit)); // the rest is read and dropped, so that the client sees the answer
      }
    });
    incoming.on('end', () => resolve(chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks)));
    incoming.on('error', reject);
    incoming.on('aborted', () => reject(badRequest('the request ended before its body did')));
  });
}
