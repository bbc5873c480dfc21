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
  /** Bytes that all watches together may hold for clients that are behind, and those of one user. */
  readonly maxWatchBytes: number;
  readonly maxWatchBytesPerUser: number;
  /** How long a request waits for its turn before it is refused. */
  readonly maxWaitMs: number;
}

export const defaultLimits: LimitOptions = {
  maxRequestsInflight: 400,
  maxMutatingRequestsInflight: 200,
  maxWatches: 10_000,
  maxWatchesPerUser: 1000,
  maxWatchBytes: 256 << 20,
  maxWatchBytesPerUser: 64 << 20,
  maxWaitMs: 15_000,
};

/** Requests that are told apart: one kind does not wait for another. */
export type LaneName = 'exempt' | 'leases' | 'mutating' | 'readOnly';

/** What each lane allows. */
export function laneLimits(options: LimitOptions): Readonly<Record<LaneName, QueueLimits>> {
  const { maxRequestsInflight: reads, maxMutatingRequestsInflight: writes } = options;
  return {
    readOnly: lane(reads, { share: 8, seatsPerTurn: 8 }),
    // Writes of one user that become durable together are answered together: that many hold up everyone else.
    mutating: lane(writes, { share: 25, seatsPerTurn: 4 }),
    leases: { seats: 64, seatsPerFlow: 8, seatsPerTurn: 2, waiting: 256, waitingPerFlow: 32 },
    exempt: {
      seats: reads + writes,
      seatsPerFlow: reads + writes,
      seatsPerTurn: Infinity,
      waiting: 4096,
      waitingPerFlow: 4096,
    },
  };
}

/** A lane that `share` users must conspire to fill. */
const lane = (
  seats: number,
  { share, seatsPerTurn }: { readonly share: number; readonly seatsPerTurn: number },
): QueueLimits => ({
  seats,
  seatsPerFlow: Math.ceil(seats / share),
  seatsPerTurn,
  waiting: 2048,
  waitingPerFlow: 256,
});
