// Two joined clusters and the conditions of the export of `web`: the setup of most requirement tests.

import assert from 'node:assert/strict';

import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import type { MulticlusterOptions } from '../../src/multicluster/multicluster.ts';
import type { Cluster, Joined } from './clusters.ts';
import { join, startClusters } from './clusters.ts';

export const web = { namespace: 'shop', name: 'web' };

export async function joined(
  stack: AsyncDisposableStack,
  options: Partial<MulticlusterOptions> = {},
): Promise<{ readonly east: Cluster; readonly west: Cluster } & Joined> {
  const [east, west] = await startClusters(['east', 'west'], stack);
  assert.ok(east && west);
  const started = join([east, west], stack, options);
  await started.part.ready;
  return { east, west, ...started };
}

/** The reason of a condition of the SuperclusterExport. */
export const reasonOf = async (cluster: Cluster, type: string): Promise<string | undefined> =>
  (await cluster.client.find(superclusterExportKind, web))?.status?.conditions?.find((each) => each.type === type)
    ?.reason;
