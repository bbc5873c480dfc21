import type { ControlPlane } from './control-plane.ts';
import type { Manifest } from './manifests.ts';
import type { UpOptions } from './options.ts';

/** A manifest, and the cluster it is for; undefined: all. */
type TargetedManifest = Manifest & { readonly cluster: string | undefined };

/** Reads all manifests before anything starts: a file that cannot be read is a usage error. */
export async function readTargets(sources: UpOptions['apply']): Promise<readonly TargetedManifest[]> {
  if (sources.length === 0) return [];
  const { readManifests } = await import('./manifests.ts');
  const lists = sources.map(async ({ path, cluster }) =>
    (await readManifests(path)).map((manifest) => ({ ...manifest, cluster })),
  );
  return (await Promise.all(lists)).flat();
}

/** Applies each manifest to its clusters. */
export async function applyTargets(
  manifests: readonly TargetedManifest[],
  { state, connect }: Pick<ControlPlane, 'state' | 'connect'>,
): Promise<void> {
  if (manifests.length === 0) return;
  const { applyManifests } = await import('./apply.ts');
  for (const { name } of state.clusters) {
    using transport = connect(name);
    await applyManifests(
      transport,
      name,
      manifests.filter(({ cluster }) => cluster === undefined || cluster === name),
    );
  }
}
