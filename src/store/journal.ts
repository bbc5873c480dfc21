import type { Change, StoreStatus } from './store.ts';

/** Where an embedded store writes down its changes. The store calls `append` again only after the last one settled. */
export interface Journal {
  /**
   * Resolves when the changes, of one or more whole commits, are durable. Rejects with a `StoreUnavailableError` when
   * they are not; then none of them is ever seen again.
   */
  append(changes: readonly Change[]): Promise<void>;
  /** Drops what only readers of revisions before `revision` need. */
  compact(revision: number): Promise<void>;
  /** Bytes on disk; undefined if the journal keeps nothing. */
  size(): Promise<number | undefined>;
  /** Why the last `append` failed, until one could succeed again. */
  readonly failure?: StoreStatus['failure'];
  close(): Promise<void>;
}
