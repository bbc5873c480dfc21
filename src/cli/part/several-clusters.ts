import { dirname } from 'node:path';
import { Client } from '../../client/client.ts';
import { overHttps } from '../../client/https.ts';
import type { ClusterAccess, Environment } from '../../client/kubeconfig.ts';
import { contextNames } from '../../client/kubeconfig.ts';
import { retrying } from '../../client/retry.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped } from '../options/flags.ts';
import { version } from '../program.ts';
import { stateOf } from '../up/stored-clusters.ts';
import type { FoundCluster } from './cluster-access.ts';
import { clusterFlags, readClusterAccess } from './cluster-access.ts';

/** The flags that select several clusters. */
export const severalClusterFlags: readonly Flag[] = grouped(
  'Clusters',
  clusterFlags.map((flag) =>
    flag.name === 'context'
      ? {
          ...flag,
          description: 'context of a cluster to show',
          repeatable: true,
          default: 'all of --kubeconfig or of a running `fairlead up`; otherwise the current one',
        }
      : flag,
  ),
);

/** The access to one of the selected clusters, by the name of its context. */
export interface SelectedCluster {
  readonly name: string;
  readonly access: ClusterAccess;
}

/** The clusters that the flags select. Throws a UsageError if one of them is not in the kubeconfig. */
export async function selectClusters(
  settings: Settings,
  found: FoundCluster,
  env: Environment,
): Promise<readonly SelectedCluster[]> {
  const contexts = await contextsOf(settings, found);
  return Promise.all(
    contexts.map(async (context) => {
      const access = await readClusterAccess({ ...found, context }, env);
      return { name: access.context, access };
    }),
  );
}

async function contextsOf(settings: Settings, found: FoundCluster): Promise<readonly (string | undefined)[]> {
  const given = settings.get('context');
  if (given !== undefined) return [...new Set(given)];
  const isMeant = settings.has('kubeconfig') || found.isOfUp === true || (await areOfUp(found.paths));
  const names = isMeant ? await contextNames(found.paths).catch(() => []) : [];
  // Without contexts, reading the current one fails with the reason.
  return names.length === 0 ? [undefined] : names;
}

/** Whether running processes of `fairlead up` have written the kubeconfigs, for example one that KUBECONFIG names. */
async function areOfUp(paths: readonly string[]): Promise<boolean> {
  const states = await Promise.all(paths.map((path) => stateOf(dirname(path))));
  return states.length > 0 && states.every((state) => state !== undefined);
}

/** A client of a cluster with the rights of a token, and no others. */
export const clientWithToken = ({ name, access }: SelectedCluster, token: string): Client =>
  clientOf({
    name,
    access: {
      ...access,
      async credentials() {
        const { ca } = await access.credentials(false); // a Pod's authorities are renewed
        return { token, ...(ca === undefined ? {} : { ca }) };
      },
    },
  });

/** A client of a cluster with the rights of its kubeconfig. */
export const clientOf = ({ access }: SelectedCluster): Client =>
  new Client(retrying(overHttps(access, { userAgent: `fairlead-dashboard/${version}` })), {
    fieldManager: 'fairlead-dashboard',
  });
