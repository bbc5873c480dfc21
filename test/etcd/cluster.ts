import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { startEtcd } from '../../src/store/etcd/testing/etcd.ts';
import type { TestEtcd } from '../../src/store/etcd/testing/etcd.ts';
import type { Credentials } from '../harness/server.ts';
import { FairleadServer } from '../harness/server.ts';
import { Link } from './link.ts';

/** Several API servers over one etcd cluster. */
export interface SharedCluster extends AsyncDisposable {
  readonly etcd: TestEtcd;
  readonly servers: readonly FairleadServer[];
  readonly credentials: Credentials;
}

/** Starts etcd, and servers that have the certificate authority of the first. */
export async function startSharedCluster({
  members,
  servers: count,
  flags = [],
  etcdFlags = [],
  linked = [],
  uids = [],
}: {
  readonly members: number;
  readonly servers: number;
  readonly flags?: readonly string[];
  readonly etcdFlags?: readonly string[];
  /** The servers, by their number, that have links to the members, in the order of the members. */
  readonly linked?: readonly (readonly [server: number, links: Link[]])[];
  /** The users of the members. */
  readonly uids?: readonly number[];
}): Promise<SharedCluster> {
  await using stack = new AsyncDisposableStack();
  const etcd = stack.use(await startEtcd({ members, flags: etcdFlags, uids }));
  const byServer = new Map(linked);
  for (const links of byServer.values()) {
    for (const url of etcd.urls) links.push(stack.use(await Link.open(url)));
  }
  const store = (index: number): readonly string[] => {
    const urls = byServer.get(index)?.map(({ url }) => url) ?? etcd.urls;
    return ['--store', 'etcd', '--etcd-servers', urls.join(','), ...flags];
  };
  const first = stack.use(await FairleadServer.start(store(0)));
  const others = await Promise.all(
    Array.from({ length: count - 1 }, (_, index) =>
      FairleadServer.start(store(index + 1), (directory) => share(first.directory, directory)),
    ),
  );
  for (const server of others) stack.use(server);
  const credentials = await first.credentials();
  const held = stack.move();
  return { etcd, servers: [first, ...others], credentials, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** What a user copies to the data directory of a further server. */
async function share(from: string, to: string): Promise<void> {
  await mkdir(join(to, 'pki', 'fairlead'), { recursive: true, mode: 0o700 });
  for (const name of ['ca.crt', 'ca.key', 'admin.crt', 'admin.key']) {
    await cp(join(from, 'pki', 'fairlead', name), join(to, 'pki', 'fairlead', name));
  }
}
