import type { Command } from 'commander';
import { version } from '../program.ts';
import type { Streams } from '../output.ts';
import { outputFlag, readOutput, rendered } from '../output.ts';

/** The version of the Kubernetes API that is served. */
const kubernetesVersion = 'v1.35.0';

export function define(command: Command): void {
  command
    .description('Print the version of Fairlead, of the Kubernetes API it serves, and of Node.')
    .addOption(outputFlag());
}

export async function execute(command: Command, { out }: Streams): Promise<number> {
  const versions = { fairlead: version, kubernetes: kubernetesVersion, node: process.version };
  const line = `fairlead ${versions.fairlead} (Kubernetes ${versions.kubernetes}, Node ${versions.node})`;
  out(await rendered(readOutput(command), versions, () => [line]));
  return 0;
}
