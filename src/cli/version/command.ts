import type { Command } from '../command.ts';
import { outputFlag } from '../options/flags.ts';
import { rendered } from '../output.ts';
import { version } from '../program.ts';

/** The version of the Kubernetes API that is served. */
const kubernetesVersion = 'v1.35.0';

export const command: Command = {
  description: 'Print the version of Fairlead, of the Kubernetes API it serves, and of Node.',
  examples: ['fairlead version', 'fairlead version -o json'],
  flags: [outputFlag],
  async run({ settings, streams }) {
    const versions = { fairlead: version, kubernetes: kubernetesVersion, node: process.version };
    const line = `fairlead ${versions.fairlead} (Kubernetes ${versions.kubernetes}, Node ${versions.node})`;
    streams.out(await rendered(settings, versions, () => [line]));
    return 0;
  },
};
