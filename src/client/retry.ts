import type { Clock } from './clock.ts';
import { sleep, systemClock } from './clock.ts';
import type { ApiResponse, Transport } from './transport.ts';

export interface RetryOptions {
  readonly clock?: Clock;
  /** The most times that a request is sent; default 10. */
  readonly attempts?: number;
}

/**
 * Retries requests that the server rejects with 429 or 5xx and a `Retry-After` header. Without that header the server may
 * have executed the request. Streams are not retried here; their readers do.
 */
export function retrying(transport: Transport, { clock = systemClock, attempts = 10 }: RetryOptions = {}): Transport {
  return {
    async request(call) {
      const never = new AbortController().signal;
      for (let attempt = 1; ; attempt++) {
        const response = await transport.request(call);
        const seconds = secondsToWait(response);
        if (seconds === undefined || attempt === attempts) return response;
        await sleep(clock, Math.min(seconds, maxWaitSeconds) * 1000, call.signal ?? never);
        call.signal?.throwIfAborted();
      }
    },
    stream: (call) => transport.stream(call),
    [Symbol.dispose]: () => transport[Symbol.dispose](),
  };
}

/** The upper limit of `Retry-After`. */
const maxWaitSeconds = 60;

function secondsToWait({ status, headers }: ApiResponse): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return seconds >= 0 ? seconds : undefined;
}
