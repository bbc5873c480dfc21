import type { EtcdClient } from './client.ts';
import type { Keys } from './keys.ts';
import { bytesOfText, range, txn } from './messages.ts';

/** The cluster that a prefix of etcd belongs to. All its servers have a certificate authority in common. */
export interface ClusterOwner {
  readonly name: string;
  /** SHA-256 fingerprints of the certificate authorities that this server trusts. */
  readonly authorities: readonly string[];
  /** Takes over a prefix with objects of a kube-apiserver. */
  readonly isAdopting: boolean;
}

/** The prefix belongs to another cluster, or to another program. Nothing was written. */
class PrefixOwnerError extends Error {
  readonly code = 'STORE_PREFIX_OWNER';
}

/** Claims the prefix for a cluster, or checks that it belongs to it. */
export async function claimPrefix(client: EtcdClient, keys: Keys, owner: ClusterOwner): Promise<void> {
  const key = keys.own('owner');
  const { kvs } = await client.call(range, { key });
  const [kv] = kvs;
  if (kv === undefined && !owner.isAdopting) await requireEmpty(client, keys);
  const recorded = kv === undefined ? undefined : recordOf(keys, kv.value);
  if (recorded !== undefined) checkOwner(keys, recorded, owner);
  const authorities = [...new Set([...(recorded?.authorities ?? []), ...owner.authorities])];
  if (authorities.length === recorded?.authorities.length) return;
  const value = bytesOfText(JSON.stringify({ cluster: owner.name, authorities }));
  const { succeeded } = await client.call(txn, {
    compare: [{ key, modRevision: kv?.modRevision ?? 0 }],
    success: [{ type: 'put', key, value }],
  });
  // Another server was faster.
  if (!succeeded) await claimPrefix(client, keys, owner);
}

async function requireEmpty(client: EtcdClient, keys: Keys): Promise<void> {
  const { kvs } = await client.call(range, { key: keys.prefix, end: keys.end, limit: 1 });
  const [found] = kvs;
  if (found === undefined) return;
  throw new PrefixOwnerError(
    `the etcd prefix ${pathOf(keys)} has keys of another program, such as ${found.key}: pass another --etcd-prefix, or ` +
      '--etcd-adopt to take over the objects of a kube-apiserver',
  );
}

interface OwnerRecord {
  readonly cluster: string;
  readonly authorities: readonly string[];
}

function recordOf(keys: Keys, value: Uint8Array): OwnerRecord {
  try {
    const { cluster, authorities } = JSON.parse(Buffer.from(value).toString()) as Partial<OwnerRecord>;
    if (typeof cluster === 'string' && Array.isArray(authorities)) return { cluster, authorities };
  } catch {
    // not JSON
  }
  throw new PrefixOwnerError(
    `the owner of the etcd prefix ${pathOf(keys)} is not readable: it may be of a newer release; pass another --etcd-prefix`,
  );
}

function checkOwner(keys: Keys, { cluster, authorities }: OwnerRecord, owner: ClusterOwner): void {
  if (cluster !== owner.name) {
    throw new PrefixOwnerError(
      `the etcd prefix ${pathOf(keys)} belongs to cluster "${cluster}", not "${owner.name}": pass another --etcd-prefix`,
    );
  }
  if (owner.authorities.some((authority) => authorities.includes(authority))) return;
  throw new PrefixOwnerError(
    `the etcd prefix ${pathOf(keys)} belongs to a cluster "${cluster}" with another certificate authority: copy the ` +
      'folder pki from the data directory of one of its servers, or pass another --etcd-prefix',
  );
}

const pathOf = ({ prefix }: Keys): string => (prefix === '/' ? prefix : prefix.slice(0, -1));
