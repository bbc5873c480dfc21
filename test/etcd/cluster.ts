import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { startEtcd } from '../../src/store/etcd/testing/etcd.ts';
import type { TestEtcd } from '../../src/store/etcd/testing/etcd.ts';
import type { Credentials } from '../harness/server.ts';
import { FairleadServer } from '../harness/server.ts';

/** Several API servers over one etcd cluster. */
export interface SharedCluster extends AsyncDisposable {
  readonly etcd: TestEtcd;
  readonly servers: readonly FairleadServer[];
  readonly credentials: Credentials;
}

/** Starts etcd, and servers that have the certificate authority and the token keys of the first. */
export async function startSharedCluster({
  members,
  servers: count,
  flags = [],
}: {
  readonly members: number;
  readonly servers: number;
  readonly flags?: readonly string[];
}): Promise<SharedCluster> {
  await using stack = new AsyncDisposableStack();
  const etcd = stack.use(await startEtcd({ members }));
  const store = ['--store', 'etcd', '--etcd-servers', etcd.urls.join(','), ...flags];
  const first = stack.use(await FairleadServer.start(store));
  const others = await Promise.all(
    Array.from({ length: count - 1 }, () =>
      FairleadServer.start(store, (directory) => share(first.directory, directory)),
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
  await cp(join(from, 'token-keys'), join(to, 'token-keys'), { recursive: true });
}
