import { badRequest, failure } from '../../api/errors.ts';
import { setTimeout } from '../../machine/timers.ts';
import { tooLarge } from '../reply.ts';
import type { Incoming } from './write.ts';

/** How long a client may take to send a body; Node's own timeout does not apply to HTTP/2. */
const bodyTimeoutMs = 60_000;

/** Reads the whole body; rejects with a 413 beyond `limit` bytes and with a 504 after the timeout. */
export function readBody(incoming: Incoming, limit: number, timeoutMs: number = bodyTimeoutMs): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > limit) {
    incoming.resume();
    return Promise.reject(tooLarge(limit));
  }
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const timer = setTimeout(() => reject(tooSlow()), timeoutMs);
  const chunks: Buffer[] = [];
  let size = 0;
  incoming.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
    else {
      chunks.length = 0;
      reject(tooLarge(limit)); // the rest is read and discarded, so that the client reads the reply
    }
  });
  incoming.on('end', () => resolve(chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks)));
  incoming.on('error', reject);
  incoming.on('aborted', () => reject(badRequest('the request ended before its body did')));
  return promise.finally(() => clearTimeout(timer));
}

const tooSlow = (): Error =>
  failure({
    code: 504,
    reason: 'Timeout',
    message: 'Timeout: request did not complete within the allotted timeout',
    details: {},
  });
