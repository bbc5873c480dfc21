// Reads the state of a prefix once, without following it.

import type { Entry } from '../store.ts';
import { EtcdPrefixError } from '../errors.ts';
import type { EtcdAddress } from './client.ts';
import { EtcdClient } from './client.ts';
import type { ConnectOptions } from './connect.ts';
import { connect } from './connect.ts';
import { hasEpoch, readEpoch, requireComplete } from './epoch.ts';
import { Keys } from './keys.ts';
import type { KeyValue } from './messages.ts';
import { range } from './messages.ts';
import { Mirror } from './mirror.ts';
import { readOwner } from './owner.ts';

export interface EtcdReadOptions extends EtcdAddress, ConnectOptions {
  /** As for `openEtcdStore`. */
  readonly prefix?: string | undefined;
}

/** The state of a prefix at one revision. */
export interface EtcdState {
  /** Undefined: no server of ours has used the prefix. */
  readonly cluster: string | undefined;
  readonly revision: number;
  readonly entries: readonly Entry[];
}

/** The keys of the first page, about how many bytes each later one has, and how long a member may take for one. */
const page = { keys: 100, bytes: 8 << 20, timeoutMs: 10_000 };

/** Reads the state of a prefix without writing to etcd. Rejects if there is none, or if it is incomplete. */
export async function readEtcdState(options: EtcdReadOptions): Promise<EtcdState> {
  const keys = new Keys(options.prefix);
  using client = new EtcdClient(options);
  await connect(client, keys, options);
  const owner = await readOwner(client, keys);
  const epoch = await readEpoch(client, keys);
  requireComplete(epoch, keys);
  const { header } = await client.call(range, { key: keys.prefix, isCountOnly: true });
  const kvs = await readAll(client, keys, header.revision);
  if (kvs.length === 0)
    throw new EtcdPrefixError(`the etcd prefix ${keys.path} is empty: pass the prefix of a cluster`);
  if (!hasEpoch(kvs, keys, epoch)) {
    throw new EtcdPrefixError(`the state of the etcd prefix ${keys.path} was replaced meanwhile: repeat the command`);
  }
  const mirror = new Mirror(keys);
  mirror.load({ kvs, revision: header.revision, epoch });
  const { history } = mirror;
  return {
    cluster: owner?.cluster,
    revision: history.revision,
    entries: history.current.range('', undefined, Infinity),
  };
}

/** All keys of a prefix at a revision of etcd. */
export async function readAll(
  client: EtcdClient,
  { prefix, end }: Keys,
  revision: number,
): Promise<readonly KeyValue[]> {
  const kvs: KeyValue[] = [];
  for (let [key, limit, bytes] = [prefix, page.keys, 0]; ;) {
    const response = await client.call(range, { key, end, revision, limit }, page);
    for (const kv of response.kvs) {
      kvs.push(kv);
      bytes += kv.value.length;
    }
    if (!response.more) return kvs;
    key = `${kvs.at(-1)?.key ?? ''}\0`;
    limit = Math.ceil((page.bytes * kvs.length) / (bytes + page.bytes / 100));
  }
}
