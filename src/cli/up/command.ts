import { resolve } from 'node:path';
import type { Command } from '../command.ts';
import { partSections } from '../parts.ts';
import { version } from '../program.ts';
import type { ControlPlane, Hooks } from './control-plane.ts';
import { runControlPlane } from './control-plane.ts';
import { upFlags } from './flags.ts';
import type { Manifest } from './manifests.ts';
import type { UpOptions } from './options.ts';
import { readUpOptions } from './options.ts';
import { readyReport } from './report.ts';

/** `fairlead up`: everything for one or more clusters, in one process. */
export const command: Command = {
  description: 'Run everything for one or more clusters on this machine, until Ctrl-C.',
  notes: `Each cluster has its Services in a loopback range, 127.64.0.0/16, 127.65.0.0/16 and so on, which every Linux machine can reach without configuration. Its server therefore accepts endpoints in these ranges, which Kubernetes rejects.

The file of --config may have a section for each part, such as "dns:", with the flags of the part's own command as keys.`,
  examples: [
    'fairlead up --demo',
    'fairlead up --cluster blue --cluster green --apply shop.yaml@blue',
    'KUBECONFIG=.fairlead/kubeconfig kubectl --context blue get services',
  ],
  flags: upFlags,
  config: { flags: upFlags, sections: partSections },
  async run({ settings, streams }) {
    const options = readUpOptions(settings);
    const manifests = await readAll(options.apply);
    const parts = [...options.parts].filter((name) => name !== 'server');
    const prepare = async (plane: ControlPlane): Promise<string> => {
      for (const { name } of plane.state.clusters) {
        const own = manifests.filter(({ cluster }) => cluster === undefined || cluster === name);
        if (own.length > 0) await applyTo(name, own, plane);
      }
      const report = readyReport(plane.state, {
        version,
        kubeconfig: resolve(plane.directory.at('kubeconfig')),
        readyMs: plane.readyMs,
        hasColors: process.stdout.isTTY && process.stdout.hasColors(),
      });
      return options.demo ? report + (await (await import('./demo/demo.ts')).startDemo(plane)) : report;
    };
    const beforeParts: Hooks['beforeParts'] = async (clusters, connect) => {
      const { deleteLeftovers } = await import('./leftovers.ts');
      await Promise.all(clusters.map((name) => deleteLeftovers(name, connect)));
    };
    return runControlPlane({ ...options, parts, portFlag: '--port-base' }, { beforeParts, prepare, out: streams.out });
  },
};

type TargetedManifest = Manifest & { readonly cluster: string | undefined };

/** Reads all manifests before anything starts: a file that cannot be read is a usage error. */
async function readAll(sources: UpOptions['apply']): Promise<readonly TargetedManifest[]> {
  if (sources.length === 0) return [];
  const { readManifests } = await import('./manifests.ts');
  const lists = sources.map(async ({ path, cluster }) =>
    (await readManifests(path)).map((manifest) => ({ ...manifest, cluster })),
  );
  return (await Promise.all(lists)).flat();
}

async function applyTo(name: string, manifests: readonly Manifest[], { connect }: ControlPlane): Promise<void> {
  const { applyManifests } = await import('./apply.ts');
  using transport = connect(name);
  await applyManifests(transport, name, manifests);
}
