import { gateStates } from '../../api/gates.ts';
import type { Command } from '../command.ts';
import { featureGatesFlag, readFeatureGates } from '../options/feature-gates.ts';
import { outputFlag } from '../options/flags.ts';
import { columns } from '../../api/text.ts';
import { rendered } from '../output.ts';

export const command: Command = {
  description: 'List the feature gates with their stage, their default, and their value under --feature-gates.',
  examples: ['fairlead gates --feature-gates AllBeta=false'],
  flags: [{ ...featureGatesFlag, description: 'feature gates to set' }, outputFlag],
  async run({ settings, streams }) {
    const { gates } = readFeatureGates(settings);
    const rows = gateStates(gates);
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
    streams.out(await rendered(settings, rows, () => columns(table)));
    return 0;
  },
};
