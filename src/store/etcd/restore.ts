// Replaces the state of a prefix by the records of a backup.

import { randomUUID } from 'node:crypto';

import { BackupError, EtcdPrefixError, QuotaExceededError } from '../errors.ts';
import type { Entry } from '../store.ts';
import type { EtcdAddress } from './client.ts';
import { EtcdClient } from './client.ts';
import { connect } from './connect.ts';
import type { Epoch } from './epoch.ts';
import { epochKey, offsetAbove, putsEpoch, readEpoch, sameEpoch } from './epoch.ts';
import { failureOf } from './failures.ts';
import { Keys } from './keys.ts';
import type { Operation } from './messages.ts';
import { range, txn } from './messages.ts';
import { ownerKey, putsOwner, readOwner, requireEmpty } from './owner.ts';
import { batched, Revisions } from './revisions.ts';
import { encodeValue } from './values.ts';

export interface EtcdRestoreOptions extends EtcdAddress {
  /** As for `openEtcdStore`. */
  readonly prefix?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** The cluster of the records. */
  readonly cluster: string;
  readonly records: AsyncIterable<Entry>;
  /** All revisions of the new state are greater than this, and than those of the state that it replaces. */
  readonly after: number;
  /** Replace a state that exists. */
  readonly overwrites: boolean;
}

/** Below etcd's `--max-txn-ops` and `--max-request-bytes`. */
const most = { operations: 100, bytes: 1_000_000 };

/**
 * Writes the records under the prefix, after all of them were read and checked. A restore that fails or is killed can be
 * repeated. Until it is complete, no server starts on the prefix, and those that run reject requests; then they load the
 * new state.
 */
export async function restoreEtcdStore(
  options: EtcdRestoreOptions,
): Promise<{ readonly records: number; readonly revision: number }> {
  const { cluster, after } = options;
  const entries: Entry[] = [];
  for await (const entry of options.records) entries.push(entry);
  const keys = new Keys(options.prefix);
  using client = new EtcdClient(options);
  await connect(client, keys, options);
  const before = await readEpoch(client, keys);
  await requireReplaceable({ client, keys }, before, options);
  const restore = await Restore.begin({ client, keys }, before, cluster);
  await restore.clear();
  await restore.write(entries);
  return {
    records: entries.length,
    revision: await restore.finish(Math.max(before.offset, restore.offsetAbove(after))),
  };
}

interface Prefix {
  readonly client: EtcdClient;
  readonly keys: Keys;
}

async function requireReplaceable(
  { client, keys }: Prefix,
  { restore }: Epoch,
  { cluster, overwrites }: EtcdRestoreOptions,
): Promise<void> {
  const owner = await readOwner(client, keys);
  if (owner === undefined) {
    await requireEmpty(client, keys);
    return;
  }
  if (owner.cluster !== cluster) {
    throw new EtcdPrefixError(
      `the etcd prefix ${keys.path} belongs to cluster "${owner.cluster}", not "${cluster}": use another prefix`,
    );
  }
  if (restore !== undefined || overwrites) return;
  throw new EtcdPrefixError(
    `the etcd prefix ${keys.path} has the state of cluster "${cluster}": pass --overwrite to replace it, or use another prefix`,
  );
}

/** A restore that has begun: its epoch is that of the prefix, until another one begins. */
class Restore {
  readonly #client: EtcdClient;
  readonly #keys: Keys;
  readonly #epoch: Epoch;

  private constructor({ client, keys }: Prefix, epoch: Epoch) {
    this.#client = client;
    this.#keys = keys;
    this.#epoch = epoch;
  }

  static async begin({ client, keys }: Prefix, before: Epoch, cluster: string): Promise<Restore> {
    const marked = { ...batched, offset: before.offset, restore: randomUUID() };
    const owner = await readOwner(client, keys);
    await client.call(txn, {
      compare: [sameEpoch(keys, before)],
      success: [putsEpoch(keys, marked), putsOwner(keys, owner ?? { cluster, authorities: [] })],
    });
    const epoch = await readEpoch(client, keys);
    if (epoch.restore !== marked.restore) throw replaced(keys);
    return new Restore({ client, keys }, epoch);
  }

  /** The offset with which the revisions of all records are greater than `revision`. */
  offsetAbove(revision: number): number {
    return offsetAbove(revision, this.#epoch.modRevision);
  }

  /** Deletes what was there. */
  async clear(): Promise<void> {
    const { prefix, end } = this.#keys;
    const kept = new Set([epochKey(this.#keys), ownerKey(this.#keys)]);
    for (let [from, more] = [prefix, true]; more;) {
      const page = await this.#client.call(range, { key: from, end, limit: most.operations, isKeysOnly: true });
      const found = page.kvs.map(({ key }) => key);
      await this.#apply(found.filter((key) => !kept.has(key)).map((key) => ({ type: 'delete', key })));
      [from, more] = [`${found.at(-1) ?? ''}\0`, page.more];
    }
  }

  async write(entries: readonly Entry[]): Promise<void> {
    let [puts, bytes]: [Operation[], number] = [[], 0];
    for (const { key, value } of entries) {
      const encoded = encodeValue(value, 0);
      if (puts.length === most.operations || (puts.length > 0 && bytes + encoded.length > most.bytes)) {
        await this.#apply(puts);
        [puts, bytes] = [[], 0];
      }
      puts.push({ type: 'put', key: this.#keys.toEtcd(key), value: encoded });
      bytes += encoded.length + key.length;
    }
    await this.#apply(puts);
  }

  /** Makes the state available to servers. Returns its revision. */
  async finish(offset: number): Promise<number> {
    const next = { ...batched, offset };
    const compare = [sameEpoch(this.#keys, this.#epoch)];
    // It may be sent twice, so its result does not show whether it was applied.
    await this.#client.call(txn, { compare, success: [putsEpoch(this.#keys, next)] });
    const { modRevision, restore } = await readEpoch(this.#client, this.#keys);
    if (restore !== undefined) throw replaced(this.#keys);
    return new Revisions(next).lastOf(modRevision);
  }

  async #apply(operations: readonly Operation[]): Promise<void> {
    if (operations.length === 0) return;
    const keys = this.#keys;
    try {
      const { succeeded } = await this.#client.call(txn, {
        compare: [sameEpoch(keys, this.#epoch)],
        success: operations,
      });
      if (!succeeded) throw replaced(keys);
    } catch (error) {
      const failure = failureOf(error);
      if (failure === 'no space') throw new QuotaExceededError();
      if (failure !== 'too large') throw error;
      const [first] = operations;
      const key = first !== undefined && 'key' in first ? first.key : '';
      throw new BackupError(
        `etcd does not accept the value of ${key}: start etcd with a larger --max-request-bytes, then repeat the restore`,
        { cause: error },
      );
    }
  }
}

const replaced = ({ path }: Keys): EtcdPrefixError =>
  new EtcdPrefixError(`the etcd prefix ${path} was changed by another process: another restore runs`);
