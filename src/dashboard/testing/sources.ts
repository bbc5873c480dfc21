// Clusters for tests, with parts as they are configured by default.
import type { Client } from '../../client/client.ts';
import { defaultDnsOptions } from '../../dns/inspect.ts';
import type { ClusterSetOptions, ClusterSource } from '../options.ts';

/** A cluster whose API server is reached by `connect`. */
export const sourceOf = (
  name: string,
  connect: () => Client,
  connectAs: ClusterSource['connectAs'] = connect,
): ClusterSource => ({
  name,
  server: 'https://192.0.2.1',
  connect,
  connectAs,
  dns: defaultDnsOptions,
  proxy: { nodeName: 'node', mode: 'nftables' },
});

/** The cluster set of these clusters. */
export const setOf = (sources: readonly ClusterSource[]): ClusterSetOptions => ({
  conflictPolicy: 'Withdraw',
  members: sources.map(({ name, connect }) => ({ id: name, connect })),
});
