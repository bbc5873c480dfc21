// Clusters on loopback that one kubeconfig has contexts of.

import { writeFile } from 'node:fs/promises';

import type { Cluster } from '../../src/library.ts';
import { startCluster } from '../../src/library.ts';

/** Starts API servers, and writes a kubeconfig with a context of each to `path`. */
export async function startWithKubeconfig(
  names: readonly string[],
  path: string,
  stack: AsyncDisposableStack,
): Promise<void> {
  const clusters: Cluster[] = [];
  for (const name of names) clusters.push(stack.use(await startCluster({ name, parts: [] })));
  const [first, ...others] = clusters.map((cluster) => cluster.kubeconfig);
  const all = <K extends 'clusters' | 'contexts' | 'users'>(field: K) =>
    [first, ...others].flatMap((config): readonly object[] => config?.[field] ?? []);
  const merged = { clusters: all('clusters'), contexts: all('contexts'), users: all('users') };
  await writeFile(path, JSON.stringify({ ...first, ...merged }));
}
