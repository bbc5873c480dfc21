import { timestamp } from '../../../api/timestamp.ts';
import type { Transport } from '../../../client/transport.ts';
import { applyManifests } from '../apply.ts';
import { FatalError } from '../../errors.ts';
import type { ControlPlane } from '../control-plane.ts';
import { findAddresses } from './addresses.ts';
import { demoManifests, demoPods, gatedManifests, readyStatus } from './objects.ts';
import { startPod, writeStatus } from './pods.ts';
import { printTries } from './suggestions.ts';

/**
 * Creates the demo in all clusters: Pods, which are processes of this machine, and Services for them. The processes end with this
 * one. Returns the suggestions to print, and what feature gates prevented.
 */
export async function startDemo(plane: ControlPlane): Promise<string> {
  const found = await Promise.all(
    plane.state.clusters.map(async (cluster, index) => {
      const { name } = cluster;
      const pods = demoPods(index);
      await Promise.all(pods.map((pod) => startPod(pod, name)));
      using api = plane.connect(name);
      await applyManifests(api, name, demoManifests(pods));
      const keptOut = await applyGated(api, name);
      const startedAt = timestamp(Date.now());
      for (const pod of pods) await writeStatus(api, pod.name, readyStatus(pod, startedAt));
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
