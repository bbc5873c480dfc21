import type { Action, Command } from '../command.ts';
import type { Flag } from '../options/flags.ts';
import { booleanFlag, readFlag } from '../options/flags.ts';
import { countBetween, parseBoolean } from '../options/values.ts';
import { clusterFlags } from '../part/cluster-access.ts';
import { dataDirFlag, dataDirOf } from '../up/stored-clusters.ts';

const clusterFlag: Flag = {
  name: 'cluster',
  value: 'NAME',
  description: 'cluster of the data directory',
  default: 'the only one',
};

const overwriteFlag = (description: string): Flag => ({ name: 'overwrite', ...booleanFlag, description });

/** The flags that select what is read. */
const sourceFlags: readonly Flag[] = [dataDirFlag, clusterFlag, ...clusterFlags];

const backup: Action = {
  usage: 'FILE',
  summary: 'write a backup of a store to a file, while its server runs or not',
  description:
    'Write a backup of a store: of the server of --kubeconfig, of the server that runs on the data directory, or of the store ' +
    'in the data directory when no server runs. The state is that of one revision. FILE appears when it is complete; - is ' +
    'standard output.',
  notes:
    'A backup contains every Secret, unless the store encrypts them, and needs the rights of cluster-admin. It does not contain ' +
    'the folders pki and token-keys of the data directory, nor the keys of --encryption-provider-config: keep a copy of them.',
  examples: [
    'fairlead store backup monday.backup',
    'fairlead store backup --kubeconfig admin.kubeconfig - | gzip > monday.backup.gz',
  ],
  flags: [overwriteFlag('replace FILE if it exists'), ...sourceFlags],
  async run({ args: [file = ''], settings, streams }) {
    const overwrites = readFlag(settings, 'overwrite', parseBoolean, false);
    const { writeBackup } = await import('./write-backup.ts');
    return writeBackup(settings, { file, overwrites, streams });
  },
};

const restore: Action = {
  usage: 'FILE',
  summary: 'create a store from a backup',
  description:
    'Create the store of a cluster in a data directory from a backup. The server must not run. The previous store, if there is ' +
    'one, is replaced when the new one is complete, and kept beside it.',
  notes:
    'All objects get a new resourceVersion, greater than any that a client has seen: clients list everything again. To restore on ' +
    'another machine, copy the folders pki and token-keys of the data directory first.',
  examples: ['fairlead store restore monday.backup', 'gunzip < monday.backup.gz | fairlead store restore -'],
  flags: [
    overwriteFlag('replace the store if it exists'),
    {
      name: 'bump-revision',
      value: 'NUMBER',
      description: 'by how much revisions increase: more than were written after the backup',
      default: '100000000000',
    },
    dataDirFlag,
  ],
  async run({ args: [file = ''], settings, streams }) {
    const overwrites = readFlag(settings, 'overwrite', parseBoolean, false);
    const bump = readFlag(settings, 'bump-revision', countBetween(0, 1e12), 1e11);
    const { restoreBackup } = await import('./restore-backup.ts');
    return restoreBackup({ file, dataDir: dataDirOf(settings), overwrites, bump, streams });
  },
};

export const command: Command = { examples: backup.examples, flags: [], actions: { backup, restore } };
