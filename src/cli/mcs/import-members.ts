// `fairlead mcs import-members`.
import { messageOf } from '../../api/error-message.ts';
import { embeddedConfig } from '../../client/kubeconfig.ts';
import { FatalError } from '../errors.ts';
import { applyAll } from '../install/apply.ts';
import type { Manifest } from '../install/manifest.ts';
import { installed, namespaceManifest } from '../install/manifest.ts';
import { pathsOf } from './entries.ts';
import type { Hub } from './hub.ts';
import { membersIn, openCluster } from './hub.ts';
import { memberManifest, secretManifest } from './member-manifests.ts';
import type { MembersFile } from './members-file.ts';

/** Creates a ClusterMember and a Secret for each member of a file, which stays as it is. */
export async function importMembers(path: string, file: MembersFile, hub: Hub): Promise<readonly string[]> {
  using home = await openCluster(hub);
  const existing = new Set((await membersIn(home, hub)).map(({ metadata }) => metadata.name));
  const manifests: Manifest[] = [installed(namespaceManifest(hub.namespace), 'multicluster')];
  for (const { id, kubeconfig, context, ...settings } of file.members) {
    if (existing.has(id)) throw new FatalError(`"${id}" is a ClusterMember already; nothing was changed`);
    const config = await embeddedConfig({ paths: pathsOf(kubeconfig, path), context }).catch((error: unknown) => {
      throw new FatalError(`member "${id}" of ${path}: ${messageOf(error)}; nothing was changed`, { cause: error });
    });
    const shared = file.superclusterCIDRs === undefined ? {} : { superclusterCIDRs: file.superclusterCIDRs };
    manifests.push(
      secretManifest(hub, id, config),
      memberManifest(hub, { id, context: undefined, settings: { ...shared, ...settings } }),
    );
  }
  await applyAll(home.client, manifests);
  return file.members.map(({ id }) => `${id} is a ClusterMember of namespace ${hub.namespace}`);
}
