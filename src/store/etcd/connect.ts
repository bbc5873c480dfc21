import { setTimeout as sleep } from 'node:timers/promises';

import { StoreUnavailableError } from '../errors.ts';
import type { EtcdClient } from './client.ts';
import { failureOf, reasonOf } from './failures.ts';
import type { Keys } from './keys.ts';
import { range } from './messages.ts';

export interface ConnectOptions {
  /** How long the first connection is tried; default one minute. */
  readonly timeoutMs?: number | undefined;
  /** Receives messages for the operator. */
  readonly onNotice?: (message: string, keys: Readonly<Record<string, unknown>>) => void;
}

/** The pauses between attempts to reach etcd. */
export const retryMs = { first: 250, longest: 5000 };

/**
 * Waits until a member answers. Rejects with a `StoreUnavailableError`. It reads only under the prefix, since the user may have
 * no rights for other keys.
 */
export async function connect(
  client: EtcdClient,
  keys: Keys,
  { timeoutMs = 60_000, onNotice = () => undefined }: ConnectOptions,
): Promise<void> {
  const giveUp = performance.now() + timeoutMs;
  for (let pause = retryMs.first; ; pause = Math.min(2 * pause, retryMs.longest)) {
    const { url } = client;
    try {
      await client.attempt(range, { key: keys.own('none'), isCountOnly: true });
      return;
    } catch (error) {
      const failure = failureOf(error);
      const isFinal = failure !== 'not applied' && failure !== 'unknown' && failure !== 'overloaded';
      const left = giveUp - performance.now();
      if (isFinal || left <= 0) {
        throw new StoreUnavailableError(`cannot use etcd ${client.endpoints.join(',')}: ${reasonOf(error)}`, {
          cause: error,
        });
      }
      onNotice('cannot reach etcd, retrying', { endpoint: url, reason: reasonOf(error) });
      client.leave(url);
      await sleep(Math.min(pause, left));
    }
  }
}
