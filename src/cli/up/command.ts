import { resolve } from 'node:path';
import { nodeNameOf } from '../agent/node-name.ts';
import type { Command } from '../command.ts';
import { partSections } from '../parts.ts';
import { version } from '../program.ts';
import type { ControlPlane, Hooks } from './control-plane.ts';
import { runControlPlane } from './control-plane.ts';
import { upFlags } from './flags.ts';
import { applyTargets, readTargets } from './manifest-targets.ts';
import { readUpOptions } from './options.ts';
import { readyReport } from './report.ts';

/** `fairlead up`: everything for one or more clusters, in one process. */
export const command: Command = {
  description: 'Run everything for one or more clusters on this machine, until Ctrl-C.',
  notes: `Each cluster has its Services in a loopback range, 127.64.0.0/16, 127.65.0.0/16 and so on, which every Linux machine can reach without configuration. Its server therefore accepts endpoints in these ranges, which Kubernetes rejects.

The file of --config may have a section for each component, such as "dns:", with the flags of \`fairlead dns\` as keys.`,
  examples: [
    'fairlead up --demo',
    'fairlead up --cluster blue --cluster green --apply shop.yaml@blue',
    'KUBECONFIG=.fairlead/kubeconfig kubectl --context blue get services',
  ],
  flags: upFlags,
  config: { flags: upFlags, sections: partSections },
  async run({ settings, streams }) {
    const options = readUpOptions(settings);
    const manifests = await readTargets(options.apply);
    const parts = [...options.parts].filter((name) => name !== 'server');
    const prepare = async (plane: ControlPlane): Promise<string> => {
      await applyTargets(manifests, plane);
      const report = readyReport(plane.state, {
        version,
        kubeconfig: resolve(plane.directory.at('kubeconfig')),
        readyMs: plane.readyMs,
        hasColors: process.stdout.isTTY && process.stdout.hasColors(),
      });
      return options.demo
        ? report +
            (await (await import('./demo/demo.ts')).startDemo(plane, nodeNameOf(options.partSettings.get('agent'))))
        : report;
    };
    const beforeParts: Hooks['beforeParts'] = async (clusters, connect) => {
      const { deleteLeftovers } = await import('./leftovers.ts');
      const nodeName = nodeNameOf(options.partSettings.get('agent'));
      await Promise.all(clusters.map((name) => deleteLeftovers(name, nodeName, connect)));
    };
    return runControlPlane({ ...options, parts, portFlag: '--port-base' }, { beforeParts, prepare, out: streams.out });
  },
};
