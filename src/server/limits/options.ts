import type { QueueLimits } from './fair-queue.ts';

/** What clients may take of the server, in kube-apiserver's words where it has them. */
export interface LimitOptions {
  /** Reads under way at once; `--max-requests-inflight`. */
  readonly maxRequestsInflight: number;
  /** Writes under way at once; `--max-mutating-requests-inflight`. */
  readonly maxMutatingRequestsInflight: number;
  /** Watches open at once, and of one user. */
  readonly maxWatches: number;
  readonly maxWatchesPerUser: number;
  /** Bytes that may wait in memory for clients that do not read: of all answers and watches, and of one user. */
  readonly maxUnsentBytes: number;
  readonly maxUnsentBytesPerUser: number;
  /** Connections open at once, of which one client address has half at most. */
  readonly maxConnections: number;
  /** Connections open at once from one client address; `--max-connections-per-address`. */
  readonly maxConnectionsPerAddress: number;
  /** How long a request waits for its turn before it is refused. */
  readonly maxWaitMs: number;
}

export const defaultLimits: LimitOptions = {
  maxRequestsInflight: 400,
  maxMutatingRequestsInflight: 200,
  maxWatches: 10_000,
  maxWatchesPerUser: 1000,
  maxUnsentBytes: 256 << 20,
  maxUnsentBytesPerUser: 64 << 20,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 2000,
  maxWaitMs: 15_000,
};

/** Requests that are told apart: one kind does not wait for another. */
export type PriorityLevel = 'exempt' | 'leases' | 'mutating' | 'readOnly';

/** A lane's limits. */
export interface LevelLimits extends QueueLimits {
  /** How long a turn is; default: one of the event loop. */
  readonly turnMs?: number;
  /** How many answers to writes go out in a turn of the event loop. */
  readonly answersPerTurn: QueueLimits['seatsPerTurn'];
}

/**
 * What each lane allows.
 *
 * Writes of one user start in groups, with a pause between two: each group is one sync of the disk, and who comes in the
 * pause does not wait for the sync of another. In company 3 in 4 ms are 750 writes a second; alone, 4,000.
 */
export function levelLimits(options: LimitOptions): Readonly<Record<PriorityLevel, LevelLimits>> {
  const { maxRequestsInflight: reads, maxMutatingRequestsInflight: writes } = options;
  return {
    readOnly: level(reads, { seatsPerTurn: { shared: 2, alone: 8, total: 24 } }),
    mutating: level(writes, { seatsPerTurn: { shared: 3, alone: 16, total: 32 }, turnMs: 4 }),
    leases: {
      seats: 64,
      seatsPerFlow: 8,
      seatsPerTurn: { shared: 4, alone: 4, total: 32 },
      turnMs: 4,
      answersPerTurn: { shared: 1, alone: 8, total: 24 },
      waiting: 2048,
      waitingPerFlow: 256,
    },
    exempt: {
      seats: reads + writes,
      seatsPerFlow: reads + writes,
      // No administrator waits for others, but a thousand requests of theirs are not started in one turn.
      seatsPerTurn: { shared: 16, alone: 32, total: 48 },
      answersPerTurn: { shared: 16, alone: 32, total: 48 },
      waiting: 4096,
      waitingPerFlow: 4096,
    },
  };
}

/** One user may take this share of a lane, so that eight must conspire to fill it. */
const usersPerLevel = 8;

const level = (seats: number, turns: Pick<LevelLimits, 'seatsPerTurn' | 'turnMs'>): LevelLimits => ({
  answersPerTurn: { shared: 1, alone: 8, total: 24 },
  seats,
  seatsPerFlow: Math.ceil(seats / usersPerLevel),
  waiting: 2048,
  waitingPerFlow: 256,
  ...turns,
});
