import type { Change, StoreStatus } from './store.ts';

/** The durable log of an embedded store. The store calls `append` only after the previous call settled. */
export interface Journal {
  /**
   * Resolves when the changes, of one or more whole commits, are durable. Rejects with a `StoreUnavailableError` if they
   * are not; then none of them is ever visible.
   */
  append(changes: readonly Change[]): Promise<void>;
  /** Drops data that only reads before `revision` need. */
  compact(revision: number): Promise<void>;
  /** The bytes on disk; undefined if nothing is stored. */
  size(): Promise<number | undefined>;
  /** The failure of the last `append`, until one can succeed again. */
  readonly failure?: StoreStatus['failure'];
  close(): Promise<void>;
}
