import type { Entry, Store } from '../store.ts';
import type { Backup } from './format.ts';
import { backupKind, backupVersion, maxDamaged } from './format.ts';

/** Where the servers of a shared store announce themselves. Backups do not contain these keys. */
export const serversPrefix = '/registry/masterleases/';

/** The state of a store at a revision. */
export interface StoreState {
  readonly cluster: string;
  readonly revision: number;
  readonly entries: readonly Entry[];
  /** The keys of damaged records. */
  readonly damaged?: readonly string[];
}

/** A backup of a state, with values as they are stored. */
export function backupOf({ cluster, revision, entries, damaged = [] }: StoreState, now: Date): Backup {
  const header = {
    kind: backupKind,
    version: backupVersion,
    cluster,
    revision,
    time: now.toISOString(),
    damaged: damaged.slice(0, maxDamaged),
  } as const;
  return { header, entries: entries.filter(({ key }) => !key.startsWith(serversPrefix)) };
}

/**
 * A backup of a store at its current revision. Commits after the call do not change it: replaced entries stay in memory
 * until the backup is encoded.
 */
export async function snapshot(store: Store, cluster: string, now: Date): Promise<Backup> {
  const { entries, revision } = await store.range('');
  return backupOf({ cluster, revision, entries, damaged: [...store.status().damaged.keys()] }, now);
}
