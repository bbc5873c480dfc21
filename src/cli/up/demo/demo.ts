import type { Transport } from '../../../client/transport.ts';
import { FatalError } from '../../errors.ts';
import { applyManifests } from '../apply.ts';
import type { ControlPlane } from '../control-plane.ts';
import { findAddresses } from './addresses.ts';
import { demoDeployment, demoManifests, gatedManifests, namespaceManifest } from './objects.ts';
import { readyPods, removeSinglePods } from './pods.ts';
import { printTries } from './suggestions.ts';

/**
 * Creates the demo in all clusters: a Deployment, whose Pods the agent of each cluster runs as processes of this machine, and
 * Services for them. Returns the suggestions to print, and what feature gates prevented.
 */
export async function startDemo(plane: ControlPlane, nodeName: string): Promise<string> {
  const found = await Promise.all(
    plane.state.clusters.map(async (cluster) => {
      const { name } = cluster;
      const deployment = demoDeployment(name, nodeName);
      using api = plane.connect(name);
      await applyManifests(api, name, [namespaceManifest]);
      await removeSinglePods(api);
      await applyManifests(api, name, [deployment, ...demoManifests]);
      const keptOut = await applyGated(api, name);
      await readyPods(api, deployment);
      return { keptOut, addresses: await findAddresses(plane, cluster, (each) => !keptOut.has(each)) };
    }),
  );
  const kept = found.flatMap(({ keptOut }) => [...keptOut.values()]);
  return [printTries(found.map(({ addresses }) => addresses)), ...kept].join('');
}

/** Applies manifests that depend on feature gates. Returns the rejected ones with the reason. */
async function applyGated(api: Transport, cluster: string): Promise<ReadonlyMap<string, string>> {
  const keptOut = new Map<string, string>();
  for (const manifest of gatedManifests) {
    try {
      await applyManifests(api, cluster, [manifest]);
    } catch (error) {
      if (!(error instanceof FatalError)) throw error;
      keptOut.set(manifest.name, `  ${error.message}\n`);
    }
  }
  return keptOut;
}
