import type { Store } from '../store.ts';
import type { Backup } from './format.ts';
import { backupKind, backupVersion, maxDamaged } from './format.ts';

/**
 * The state of a store at its current revision, with values as they are stored. Commits after the call do not change it:
 * replaced entries stay in memory until the backup is encoded.
 */
export async function snapshot(store: Store, cluster: string, now: Date): Promise<Backup> {
  const { entries, revision } = await store.range('');
  const damaged = [...store.status().damaged.keys()].slice(0, maxDamaged);
  const header = {
    kind: backupKind,
    version: backupVersion,
    cluster,
    revision,
    time: now.toISOString(),
    damaged,
  } as const;
  return { header, entries };
}
