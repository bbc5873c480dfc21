import type { Logger } from 'pino';

import type { Store, StoreStatus } from '../../store/store.ts';
import { repeat } from './repeat.ts';

const intervalMs = 1000;

/** Logs when the store becomes unwritable or reaches its quota, and when it recovers. */
export function monitorStore(store: Store, log: Logger): AsyncDisposable {
  let before: Problems = { failure: undefined, quotaReached: undefined };
  const check = (): void => {
    const now = store.status();
    for (const { level, message, reason } of changesOf(before, now))
      log[level]({ bytes: now.bytes, quota: now.quotaBytes, reason }, message);
    before = now;
  };
  check();
  return repeat(intervalMs, check, (error) => log.error({ err: error }, 'bug: failed to read the status of the store'));
}

type Problems = Pick<StoreStatus, 'failure' | 'quotaReached'>;

/** What an operator does about a full store or a full etcd. */
const fullMessages = {
  store:
    'alarm NOSPACE: the store has reached its quota and accepts only reads and deletions: ' +
    'delete objects or raise --quota-backend-bytes',
  etcd:
    'alarm NOSPACE: etcd has reached its quota and accepts only reads and deletions: ' +
    'delete objects, compact and defragment etcd, and disarm the alarm',
};

interface LogLine {
  readonly level: 'error' | 'warn';
  readonly message: string;
  readonly reason?: string;
}

/** The log lines about the difference of two statuses. */
export function changesOf(before: Problems, now: Problems): readonly LogLine[] {
  const lines: LogLine[] = [];
  if (now.failure !== undefined && now.failure.message !== before.failure?.message) {
    const message = 'the store cannot be written, reads continue';
    lines.push({ level: 'error', message, reason: now.failure.message });
  }
  if (now.failure === undefined && before.failure !== undefined)
    lines.push({ level: 'warn', message: 'the store can be written again' });
  if (now.quotaReached !== before.quotaReached) {
    lines.push(
      now.quotaReached === undefined
        ? { level: 'warn', message: 'alarm NOSPACE is over: the store accepts all writes' }
        : { level: 'error', message: fullMessages[now.quotaReached] },
    );
  }
  return lines;
}
