/** The URL of an etcd in which the servers of the tests keep their clusters, instead of in SQLite; see test/etcd/run.ts. */
export const testEtcd = process.env['FAIRLEAD_TEST_ETCD'];

/** The flags that keep the clusters of a data directory in this etcd, unless flags of the test name a store. */
export function storeFlags(directory: string, flags: readonly string[]): readonly string[] {
  if (testEtcd === undefined || flags.includes('--store')) return [];
  return ['--store', 'etcd', '--etcd-servers', testEtcd, '--etcd-prefix', directory];
}
