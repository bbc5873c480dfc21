// Reads clusters once, for `fairlead status`.
import type { Logger } from 'pino';
import { sleep, systemClock } from '../../client/clock.ts';
import type { Overview } from '../view/overview.ts';
import { overviewOf } from '../view/overview.ts';
import { Board } from './board.ts';
import type { ShownCluster } from './cluster-feed.ts';
import { allRights } from './rights.ts';

/** Reads the clusters until all are read, do not answer, or `timeoutMs` is over. Writes nothing. */
export async function readOverview(
  clusters: readonly ShownCluster[],
  { timeoutMs, log }: { readonly timeoutMs: number; readonly log: Pick<Logger, 'debug' | 'warn'> },
): Promise<Overview> {
  await using board = new Board({ clusters, log });
  const end = systemClock.elapsed() + timeoutMs;
  const never = new AbortController().signal;
  const isPending = (): boolean => board.feeds.some((feed) => !feed.isSynced && feed.clusterRow().state !== 'lost');
  while (isPending() && systemClock.elapsed() < end) await sleep(systemClock, 10, never);
  return overviewOf(board.rows(() => allRights));
}
