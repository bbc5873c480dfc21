import { Client } from '../../client/client.ts';
import { overHttps } from '../../client/https.ts';
import type { Command } from '../command.ts';
import { removeAll } from '../install/removal.ts';
import { booleanFlag, readFlag } from '../options/flags.ts';
import { parseBoolean } from '../options/values.ts';
import { clusterFlags, partCluster, readClusterAccess } from '../part/cluster-access.ts';
import { version } from '../program.ts';

/** `fairlead uninstall`: removes what `fairlead install` and `fairlead mcs join` created in a cluster. */
export const command: Command = {
  description:
    'Remove everything that `fairlead install` and `fairlead mcs join` created in a cluster. Definitions of kinds that still have objects are kept. ' +
    'A release of Helm is removed by `helm uninstall`.',
  examples: [
    'fairlead uninstall --context prod-eu',
    'fairlead uninstall --context prod-eu --force     # exports and imports too',
  ],
  flags: [
    {
      name: 'force',
      ...booleanFlag,
      description: 'delete members that have not left, and definitions with their objects',
    },
    ...clusterFlags,
  ],
  async run({ settings, streams }) {
    const isForced = readFlag(settings, 'force', parseBoolean, false);
    const access = await readClusterAccess(partCluster(settings, process.env), process.env);
    using client = new Client(overHttps(access, { userAgent: `fairlead/${version}` }));
    const { deleted, kept } = await removeAll(client, { isForced });
    for (const text of deleted) streams.out(`deleted ${text}\n`);
    for (const text of kept) streams.err(`kept ${text}: delete them, or pass --force\n`);
    if (deleted.length + kept.length === 0) streams.out(`nothing is installed in ${access.context}\n`);
    return kept.length === 0 ? 0 : 1;
  },
};
