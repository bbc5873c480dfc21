import type { QueueLimits } from './fair-queue.ts';

/** Limits on what clients may use, named after the flags of kube-apiserver where it has them. */
export interface LimitOptions {
  /** Concurrent reads; `--max-requests-inflight`. */
  readonly maxRequestsInflight: number;
  /** Concurrent writes; `--max-mutating-requests-inflight`. */
  readonly maxMutatingRequestsInflight: number;
  /** Open watches, in total and per user. */
  readonly maxWatches: number;
  readonly maxWatchesPerUser: number;
  /** Open streams between clients and nodes (logs, commands, forwarded ports), in total and per user. */
  readonly maxStreams: number;
  readonly maxStreamsPerUser: number;
  /** Bytes that may wait in memory for clients that do not read, in total and per user. */
  readonly maxUnsentBytes: number;
  readonly maxUnsentBytesPerUser: number;
  /** Open connections; one client address may have at most half of them. */
  readonly maxConnections: number;
  /** Open connections from one client address; `--max-connections-per-address`. */
  readonly maxConnectionsPerAddress: number;
  /** How long a request may wait before it is rejected. */
  readonly maxWaitMs: number;
}

export const defaultLimits: LimitOptions = {
  maxRequestsInflight: 400,
  maxMutatingRequestsInflight: 200,
  maxWatches: 10_000,
  maxWatchesPerUser: 1000,
  maxStreams: 2000,
  maxStreamsPerUser: 500,
  maxUnsentBytes: 256 << 20,
  maxUnsentBytesPerUser: 64 << 20,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 2000,
  maxWaitMs: 15_000,
};

/** Requests of one level do not wait for requests of another. */
export type PriorityLevel = 'exempt' | 'leases' | 'mutating' | 'readOnly';

/** The limits of a priority level. */
export interface LevelLimits extends QueueLimits {
  /** How long a turn lasts; default: one turn of the event loop. */
  readonly turnMs?: number;
  /** How many replies to writes are sent in one turn of the event loop. */
  readonly repliesPerTurn: QueueLimits['seatsPerTurn'];
}

/**
 * The limits of each priority level.
 *
 * Writes of one user start in batches with a pause between them: each batch is one sync of the disk, and a request of
 * another user that arrives in the pause does not wait for it. Three writes in 4 ms are 750 writes a second; the only
 * active user gets 4,000.
 */
export function levelLimits(options: LimitOptions): Readonly<Record<PriorityLevel, LevelLimits>> {
  const { maxRequestsInflight: reads, maxMutatingRequestsInflight: writes } = options;
  return {
    readOnly: level(reads, { seatsPerTurn: { shared: 2, exclusive: 8, total: 24 } }),
    mutating: level(writes, { seatsPerTurn: { shared: 3, exclusive: 16, total: 32 }, turnMs: 4 }),
    leases: {
      seats: 64,
      seatsPerFlow: 8,
      seatsPerTurn: { shared: 4, exclusive: 4, total: 32 },
      turnMs: 4,
      repliesPerTurn: { shared: 1, exclusive: 8, total: 24 },
      waiting: 2048,
      waitingPerFlow: 256,
    },
    exempt: {
      seats: reads + writes,
      seatsPerFlow: reads + writes,
      // Administrators do not wait for other users, but a thousand of their requests do not start in one turn.
      seatsPerTurn: { shared: 16, exclusive: 32, total: 48 },
      repliesPerTurn: { shared: 16, exclusive: 32, total: 48 },
      waiting: 4096,
      waitingPerFlow: 4096,
    },
  };
}

/** The share of one user: filling a level takes at least this many users. */
const usersPerLevel = 8;

const level = (seats: number, turns: Pick<LevelLimits, 'seatsPerTurn' | 'turnMs'>): LevelLimits => ({
  repliesPerTurn: { shared: 1, exclusive: 8, total: 24 },
  seats,
  seatsPerFlow: Math.ceil(seats / usersPerLevel),
  waiting: 2048,
  waitingPerFlow: 256,
  ...turns,
});
