import { EtcdPrefixError } from '../errors.ts';
import type { EtcdClient } from './client.ts';
import { putsEpoch } from './epoch.ts';
import type { Keys } from './keys.ts';
import type { Operation } from './messages.ts';
import { bytesOfText, range, txn } from './messages.ts';
import { shared } from './revisions.ts';
import { parseRecord } from './values.ts';

/** The cluster that a prefix of etcd belongs to. All its servers have a certificate authority in common. */
export interface ClusterOwner {
  readonly name: string;
  /** SHA-256 fingerprints of the certificate authorities that this server trusts. */
  readonly authorities: readonly string[];
  /** Takes over a prefix with objects of a kube-apiserver. */
  readonly isAdopting: boolean;
}

/** The format of the keys and values under a prefix. A release rejects prefixes with a later one. */
const format = 1;

/** Claims the prefix for a cluster, or checks that it belongs to it. */
export async function claimPrefix(client: EtcdClient, keys: Keys, owner: ClusterOwner): Promise<void> {
  const found = await readOwner(client, keys);
  if (found === undefined && !owner.isAdopting) await requireEmpty(client, keys);
  if (found !== undefined) checkOwner(keys, found, owner);
  const authorities = [...new Set([...(found?.authorities ?? []), ...owner.authorities])];
  if (authorities.length === found?.authorities.length) return;
  const isShared = found === undefined && owner.isAdopting;
  const { succeeded } = await client.call(txn, {
    compare: [{ key: ownerKey(keys), modRevision: found?.modRevision ?? 0 }],
    success: [putsOwner(keys, { cluster: owner.name, authorities }), ...(isShared ? [putsEpoch(keys, shared)] : [])],
  });
  // Another server was faster.
  if (!succeeded) await claimPrefix(client, keys, owner);
}

/** Throws if there are keys under a prefix without an owner. */
export async function requireEmpty(client: EtcdClient, keys: Keys): Promise<void> {
  const { kvs } = await client.call(range, { key: keys.prefix, end: keys.end, limit: 1 });
  const [found] = kvs;
  if (found === undefined) return;
  throw new EtcdPrefixError(
    `the etcd prefix ${keys.path} has keys of another program, such as ${found.key}: pass another --etcd-prefix, or ` +
      '--etcd-adopt to take over the objects of a kube-apiserver',
  );
}

/** What the prefix records about its owner. */
interface OwnerRecord {
  readonly cluster: string;
  /** Those of all its servers; empty until the first server starts after a restore. */
  readonly authorities: readonly string[];
}

export const ownerKey = (keys: Keys): string => keys.own('owner');

/** The operation that writes a record. */
export function putsOwner(keys: Keys, { cluster, authorities }: OwnerRecord): Operation {
  return { type: 'put', key: ownerKey(keys), value: bytesOfText(JSON.stringify({ format, cluster, authorities })) };
}

/** Reads the record of a prefix, with the revision of etcd that wrote it; undefined if the prefix has no owner. */
export async function readOwner(
  client: EtcdClient,
  keys: Keys,
): Promise<(OwnerRecord & { readonly modRevision: number }) | undefined> {
  const { kvs } = await client.call(range, { key: ownerKey(keys) });
  const [kv] = kvs;
  return kv === undefined ? undefined : { ...ownerOf(keys, kv.value), modRevision: kv.modRevision };
}

function ownerOf(keys: Keys, value: Uint8Array): OwnerRecord {
  const { cluster, authorities, format: found = 1 } = parseRecord<OwnerRecord & { readonly format: number }>(value);
  if (found > format) {
    throw new EtcdPrefixError(
      `the etcd prefix ${keys.path} was written by a newer release (format ${found}): use that release or a newer one`,
    );
  }
  if (typeof cluster === 'string' && Array.isArray(authorities)) return { cluster, authorities };
  throw new EtcdPrefixError(
    `the owner of the etcd prefix ${keys.path} is not readable: it may be of another program; pass another --etcd-prefix`,
  );
}

function checkOwner(keys: Keys, { cluster, authorities }: OwnerRecord, owner: ClusterOwner): void {
  if (cluster !== owner.name) {
    throw new EtcdPrefixError(
      `the etcd prefix ${keys.path} belongs to cluster "${cluster}", not "${owner.name}": pass another --etcd-prefix`,
    );
  }
  if (authorities.length === 0 || owner.authorities.some((authority) => authorities.includes(authority))) return;
  throw new EtcdPrefixError(
    `the etcd prefix ${keys.path} belongs to a cluster "${cluster}" with another certificate authority: copy the ` +
      'folder pki from the data directory of one of its servers, or pass another --etcd-prefix',
  );
}
