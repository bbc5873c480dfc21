// The epoch of a prefix changes whenever its state is replaced as a whole: by a restore, or with etcd itself. Every
// transaction requires the epoch that its server has loaded, so no server writes to a state that it has not read.

import { EtcdPrefixError } from '../errors.ts';
import type { EtcdClient } from './client.ts';
import type { Keys } from './keys.ts';
import type { Compare, KeyValue, Operation, OperationResponse } from './messages.ts';
import { bytesOfText, range, txn } from './messages.ts';
import type { RevisionParameters } from './revisions.ts';
import { batched, Revisions } from './revisions.ts';
import { parseRecord } from './values.ts';

export interface Epoch extends RevisionParameters {
  /** The ID of a restore that has not finished: the state is incomplete. */
  readonly restore?: string | undefined;
  /** The revision of etcd that wrote the record, at which the history of the cluster begins; 0: there is no record. */
  readonly modRevision: number;
}

/** The epoch of a cluster that was never restored. */
export const firstEpoch: Epoch = { ...batched, modRevision: 0 };

export const epochKey = (keys: Keys): string => keys.own('epoch');

/** The condition that the epoch has not changed. */
export const sameEpoch = (keys: Keys, { modRevision }: Epoch): Compare => ({ key: epochKey(keys), modRevision });

/** The operation that reads the epoch. */
export const readsEpoch = (keys: Keys): Operation => ({ type: 'range', key: epochKey(keys) });

/** The operation that begins an epoch. */
export function putsEpoch(keys: Keys, { positions, offset, restore }: Omit<Epoch, 'modRevision'>): Operation {
  return { type: 'put', key: epochKey(keys), value: bytesOfText(JSON.stringify({ positions, offset, restore })) };
}

/** Whether the answer to `readsEpoch` has this epoch. */
export const isEpoch = ({ modRevision }: Epoch, response: OperationResponse | undefined): boolean =>
  response?.type === 'range' && (response.kvs[0]?.modRevision ?? 0) === modRevision;

/** Whether the records of a prefix are of this epoch. */
export function hasEpoch(kvs: readonly KeyValue[], keys: Keys, { modRevision }: Epoch): boolean {
  const name = epochKey(keys);
  return (kvs.find(({ key }) => key === name)?.modRevision ?? 0) === modRevision;
}

export async function readEpoch(client: EtcdClient, keys: Keys): Promise<Epoch> {
  const { kvs } = await client.call(range, { key: epochKey(keys) });
  return epochOf(kvs[0]);
}

function epochOf(kv: KeyValue | undefined): Epoch {
  if (kv === undefined) return firstEpoch;
  return { ...firstEpoch, ...parseRecord<Epoch>(kv.value), modRevision: kv.modRevision };
}

/** Throws if the state of the prefix is incomplete. */
export function requireComplete({ restore }: Epoch, { path }: Keys): void {
  if (restore === undefined) return;
  throw new EtcdPrefixError(
    `the etcd prefix ${path} has an incomplete restore: repeat \`fairlead store restore\` or \`fairlead store copy\``,
  );
}

/**
 * Begins an epoch with greater revisions than `revision`, because those of etcd went back to `etcd`. Does nothing if another
 * server was faster.
 */
export async function raiseRevisions(
  client: EtcdClient,
  keys: Keys,
  { epoch, revision, etcd }: { readonly epoch: Epoch; readonly revision: number; readonly etcd: number },
): Promise<void> {
  const next = { ...epoch, offset: offsetAbove(revision, etcd) };
  await client.call(txn, { compare: [sameEpoch(keys, epoch)], success: [putsEpoch(keys, next)] });
}

/** The offset with which the revisions from `etcd` on are greater than `revision`. */
export const offsetAbove = (revision: number, etcd: number): number =>
  Math.max(0, revision + 1 - new Revisions(batched).of(etcd, 0));
