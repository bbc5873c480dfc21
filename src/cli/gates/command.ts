import type { Command } from 'commander';
import { gateNames, gateSpecs } from '../../api/gates.ts';
import { flagError } from '../options/flags.ts';
import { parseFeatureGates } from '../options/feature-gates.ts';
import type { Streams } from '../output.ts';
import { columns, outputFlag, readOutput, rendered } from '../output.ts';

export function define(command: Command): void {
  command
    .description('List the feature gates: stage, default, and how --feature-gates would set them.')
    .addHelpText('before', 'Example:\n  fairlead gates --feature-gates AllBeta=false\n')
    .option('--feature-gates <LIST>', 'settings such as A=true,B=false', '')
    .addOption(outputFlag());
}

export async function execute(command: Command, { out }: Streams): Promise<number> {
  const { featureGates } = command.opts<{ featureGates: string }>();
  const { gates } = flagError('feature-gates', featureGates, () => parseFeatureGates(featureGates));
  const rows = gateNames.map((name) => ({ name, ...gateSpecs[name], enabled: gates.enabled(name) }));
  const table = [
    ['NAME', 'STAGE', 'DEFAULT', 'ENABLED', 'DESCRIPTION'],
    ...rows.map((row) => [
      row.name,
      row.locked ? `${row.stage} (locked)` : row.stage,
      String(row.default),
      String(row.enabled),
      row.description,
    ]),
  ];
  out(await rendered(readOutput(command), rows, () => columns(table)));
  return 0;
}
