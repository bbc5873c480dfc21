import type { Clock } from './clock.ts';
import { sleep, systemClock } from './clock.ts';
import type { ApiResponse, Transport } from './transport.ts';

export interface RetryOptions {
  readonly clock?: Clock;
  /** How often a request is sent at most; default 10. */
  readonly attempts?: number;
}

/**
 * Sends a request again when the server is too busy for it and says when to come back: 429 or 5xx with a
 * `Retry-After`. Without that header the server may have acted already. Streams are left to who reads them.
 */
export function retrying(transport: Transport, { clock = systemClock, attempts = 10 }: RetryOptions = {}): Transport {
  return {
    async request(call) {
      const never = new AbortController().signal;
      for (let attempt = 1; ; attempt++) {
        const answer = await transport.request(call);
        const seconds = secondsToWait(answer);
        if (seconds === undefined || attempt === attempts) return answer;
        await sleep(clock, Math.min(seconds, longestWaitSeconds) * 1000, call.signal ?? never);
        call.signal?.throwIfAborted();
      }
    },
    stream: (call) => transport.stream(call),
    [Symbol.dispose]: () => transport[Symbol.dispose](),
  };
}

/** A server may be busy for a while, but may not keep a request open for ever. */
const longestWaitSeconds = 60;

function secondsToWait({ status, headers }: ApiResponse): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return seconds >= 0 ? seconds : undefined;
}
