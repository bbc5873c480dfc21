import type { Logger } from 'pino';

import type { Store, StoreStatus } from '../../store/store.ts';
import { repeat } from './repeat.ts';

/** How often the status of the store is checked. */
const intervalMs = 1000;

/** Logs when the store cannot be written or reaches its quota, and when that is over. */
export function monitorStore(store: Store, log: Logger): AsyncDisposable {
  let before: Pick<StoreStatus, 'failure' | 'isQuotaReached'> = { failure: undefined, isQuotaReached: false };
  const check = (): void => {
    const now = store.status();
    for (const [level, message] of changesOf(before, now))
      log[level]({ bytes: now.bytes, quota: now.quotaBytes }, message);
    before = now;
  };
  check();
  return repeat(intervalMs, check, (error) => log.error({ err: error }, 'bug: the store has no status'));
}

/** What to log when a status follows another. */
export function changesOf(
  before: Pick<StoreStatus, 'failure' | 'isQuotaReached'>,
  now: Pick<StoreStatus, 'failure' | 'isQuotaReached'>,
): readonly (readonly ['error' | 'warn', string])[] {
  const changes: (readonly ['error' | 'warn', string])[] = [];
  if (now.failure !== undefined && now.failure.message !== before.failure?.message) {
    changes.push(['error', `the store cannot be written, reads go on: ${now.failure.message}`]);
  }
  if (now.failure === undefined && before.failure !== undefined)
    changes.push(['warn', 'the store can be written again']);
  if (now.isQuotaReached !== before.isQuotaReached) {
    const [reached, over] = [
      'alarm NOSPACE: the store has reached its quota and accepts only reads and deletions: ' +
        'delete objects or raise --quota-backend-bytes',
      'alarm NOSPACE is over: the store is below its quota',
    ];
    changes.push(now.isQuotaReached ? ['error', reached] : ['warn', over]);
  }
  return changes;
}
