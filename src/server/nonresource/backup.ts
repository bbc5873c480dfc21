import { encodeBackup } from '../../store/backup/format.ts';
import { snapshot } from '../../store/backup/snapshot.ts';
import type { Store } from '../../store/store.ts';
import type { BodyReply } from '../reply.ts';

/** The path of the backup. No role but cluster-admin allows it: a backup contains every Secret. */
export const backupPath = '/store/backup';

/** Replies with a backup of the store, which is encoded while it is sent. */
export async function backupReply(store: Store, cluster: string, now: number): Promise<BodyReply> {
  const body = encodeBackup(await snapshot(store, cluster, new Date(now)));
  return { status: 200, headers: { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' }, body };
}
