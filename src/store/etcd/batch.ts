// A batch of commits as one transaction of etcd: each is a nested transaction, which succeeds or fails on its own.

import type { Write } from '../store.ts';
import type { Keys } from './keys.ts';
import type { Compare, Operation, TxnRequest } from './messages.ts';
import { bytesOfText } from './messages.ts';
import { markerName } from './mirror.ts';
import type { Revisions } from './revisions.ts';
import { encodeShared, encodeValue } from './values.ts';

/** A commit that waits for etcd. */
export interface Queued {
  readonly writes: readonly Write[];
  /** The lease of its writes, by TTL. */
  readonly leases: ReadonlyMap<number, bigint>;
  readonly bytes: number;
}

/** etcd's `--max-txn-ops`: the operations of a transaction and of its largest nested one, together. */
const maxOperations = 128;
const maxCommits = 60;
/** Below etcd's `--max-request-bytes`, with room for the encoding. */
const maxBytes = 1_300_000;

const operationsOf = (writes: readonly Write[]): number => writes.length + 1; // perhaps with a marker

/**
 * Removes the commits of the next batch from a queue: none writes a key of another, since all check the state before the
 * batch. Several may check a key that none writes, such as their namespace.
 */
export function takeBatch<T extends Queued>(queue: T[]): T[] {
  const batch: T[] = [];
  const left: T[] = [];
  const [written, checked] = [new Set<string>(), new Set<string>()];
  let [largest, bytes] = [0, 0];
  for (const queued of queue) {
    const operations = operationsOf(queued.writes);
    const isFull =
      batch.length > 0 &&
      (batch.length === maxCommits ||
        bytes + queued.bytes > maxBytes ||
        batch.length + 2 + Math.max(largest, operations) > maxOperations);
    const isFree =
      !isFull && queued.writes.every(({ key, isCheck = false }) => !written.has(key) && (isCheck || !checked.has(key)));
    // A later commit of the same key must not overtake one that waits.
    for (const { key, isCheck = false } of queued.writes) (isCheck ? checked : written).add(key);
    if (!isFree) {
      left.push(queued);
      continue;
    }
    batch.push(queued);
    largest = Math.max(largest, operations);
    bytes += queued.bytes;
  }
  queue.splice(0, queue.length, ...left);
  return batch;
}

/** The nested transaction of a commit at a position of its batch. */
export function nestedOf(
  { writes, leases }: Queued,
  position: number,
  { keys, revisions }: { readonly keys: Keys; readonly revisions: Revisions },
): TxnRequest {
  const compare: Compare[] = [];
  const puts: Operation[] = [];
  const deletes: Operation[] = [];
  for (const { key, value, expect, isCheck, ttlSeconds } of writes) {
    const etcdKey = keys.toEtcd(key);
    if (expect !== undefined) {
      compare.push({ key: etcdKey, modRevision: expect === 0 ? 0 : revisions.etcdOf(expect) });
    }
    if (isCheck === true) continue;
    if (value === undefined) {
      deletes.push({ type: 'delete', key: etcdKey });
      continue;
    }
    const lease = ttlSeconds === undefined ? undefined : leases.get(ttlSeconds);
    const encoded = revisions.isBatching ? encodeValue(value, position) : encodeShared(value);
    const put = { type: 'put', key: etcdKey, value: encoded } as const;
    puts.push(lease === undefined ? put : { ...put, lease });
  }
  // A deletion has the position of the event before it.
  const needsMarker = puts.length === 0 && deletes.length > 0 && position > 0;
  const marker = { type: 'put', key: keys.own(markerName, String(position)), value: bytesOfText('') } as const;
  return { compare, success: [...puts, ...(needsMarker ? [marker] : []), ...deletes] };
}
