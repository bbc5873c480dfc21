import type { Action, Command } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { booleanFlag, readFlag, textOf } from '../options/flags.ts';
import { countBetween, parseBoolean } from '../options/values.ts';
import { clusterFlags } from '../part/cluster-access.ts';
import { dataDirFlag, dataDirOf } from '../up/stored-clusters.ts';
import type { Location } from './location.ts';
import { locationFlag, locationFlags, parseLocation } from './location.ts';

const clusterFlag: Flag = {
  name: 'cluster',
  value: 'NAME',
  description: 'cluster of the data directory',
  default: 'the only one',
};

const overwriteFlag = (description: string): Flag => ({ name: 'overwrite', ...booleanFlag, description });

const bumpFlag: Flag = {
  name: 'bump-revision',
  value: 'NUMBER',
  description: 'how far revisions increase; must exceed the number of writes after the backup',
  default: '100000000000',
};

/** The flags that select what is read. */
const sourceFlags: readonly Flag[] = [
  dataDirFlag,
  clusterFlag,
  locationFlag('from', 'read this store directly, without its server'),
  ...clusterFlags,
  ...locationFlags,
];

const overwrites = (settings: Settings): boolean => readFlag(settings, 'overwrite', parseBoolean, false);
const bump = (settings: Settings): number => readFlag(settings, 'bump-revision', countBetween(0, 1e12), 1e11);

const backup: Action = {
  usage: 'FILE',
  summary: 'write a backup of a store to a file, also while its server runs',
  description:
    'Write the state of a cluster at one revision to a file. The state comes from the server of --kubeconfig or from the store ' +
    'of --from, if one is given; otherwise from the server that runs on the data directory, or from its store if no server ' +
    'runs. FILE appears when it is complete; - is standard output.',
  notes:
    'A backup contains every Secret, unless the store encrypts them, and needs the rights of cluster-admin. It does not contain ' +
    'the folders pki and token-keys of the data directory, nor the keys of --encryption-provider-config: keep a copy of them.',
  examples: [
    'fairlead store backup monday.backup',
    'fairlead store backup --kubeconfig admin.kubeconfig - | gzip > monday.backup.gz',
  ],
  flags: [overwriteFlag('replace FILE if it exists'), ...sourceFlags],
  async run({ args: [file = ''], settings, streams }) {
    const { writeBackup } = await import('./write-backup.ts');
    return writeBackup(settings, { file, overwrites: overwrites(settings), streams });
  },
};

const restore: Action = {
  usage: 'FILE',
  summary: 'create a store from a backup',
  description:
    'Create the store of a cluster from a backup: in a data directory, whose server must not run, or in etcd, whose servers ' +
    'reject requests until it is complete. The previous store, if there is one, is kept beside the new one or, for etcd, as a ' +
    'backup in the current directory.',
  notes:
    'All objects get a new resourceVersion, greater than any that a client has seen, so clients list everything again. To ' +
    'restore on another machine, copy the folders pki and token-keys of the data directory first.',
  examples: [
    'fairlead store restore monday.backup',
    'gunzip < monday.backup.gz | fairlead store restore -',
    'fairlead store restore monday.backup --to etcd:http://127.0.0.1:2379',
  ],
  flags: [
    overwriteFlag('replace the store if it exists'),
    bumpFlag,
    dataDirFlag,
    locationFlag('to', 'store to write instead of the one in the data directory'),
    ...locationFlags,
  ],
  async run({ args: [file = ''], settings, streams }) {
    const to = readFlag<Location>(settings, 'to', parseLocation, { engine: 'sqlite', directory: dataDirOf(settings) });
    const [{ restore: run }, { linesOf, nameOfFile }] = await Promise.all([
      import('./restore.ts'),
      import('./file.ts'),
    ]);
    const options = { to, overwrites: overwrites(settings), bump: bump(settings), settings, streams };
    return run(linesOf(file), nameOfFile(file), options);
  },
};

const copy: Action = {
  summary: 'move a cluster to another store',
  description:
    'Copy the state of a cluster to another store, also between SQLite and etcd. Stop all servers of the cluster first, so that ' +
    'no write is lost. The copy appears when it is complete; the source is unchanged.',
  notes:
    'All objects get a new resourceVersion, greater than any that a client has seen, so clients list everything again. Start ' +
    'the servers with the same folder pki, and never on both stores.',
  examples: [
    'fairlead store copy --from sqlite:.fairlead --to etcd:http://127.0.0.1:2379',
    'fairlead store copy --from etcd:http://a:2379,http://b:2379 --to sqlite:data',
  ],
  flags: [
    locationFlag('from', 'the store to read'),
    locationFlag('to', 'the store to write'),
    clusterFlag,
    overwriteFlag('replace the store if it exists'),
    bumpFlag,
    ...locationFlags,
  ],
  async run({ settings, streams }) {
    const { copyStore } = await import('./restore.ts');
    const [from, to] = [location(settings, 'from'), location(settings, 'to')];
    return copyStore(from, { to, overwrites: overwrites(settings), bump: bump(settings), settings, streams });
  },
};

const check: Action = {
  usage: '[FILE]',
  summary: 'check a store or a backup',
  description:
    'Check the backup in FILE, or a store, also while its server runs. Flags select the store as for `fairlead store backup`. ' +
    'Reports damaged records, values that are not objects of their kind, objects in namespaces that do not exist, cluster IPs ' +
    'and node ports that several Services have, and those that are not claimed by their Service, each on one line.',
  notes: 'The exit code is 0 if there is no problem. A server repairs damaged claims when it starts.',
  examples: ['fairlead store check', 'fairlead store check monday.backup'],
  flags: sourceFlags,
  async run({ args: [file], settings, streams }) {
    const { checkStore } = await import('./check.ts');
    return checkStore(file, settings, streams);
  },
};

function location(settings: Settings, name: string): Location {
  if (textOf(settings, name) === undefined) {
    throw new UsageError(
      `--${name} is required: sqlite:DIR, or etcd:URL,... as in etcd:http://127.0.0.1:2379/registry`,
    );
  }
  return readFlag(settings, name, parseLocation, { engine: 'sqlite', directory: '' });
}

export const command: Command = { examples: backup.examples, flags: [], actions: { backup, restore, copy, check } };
