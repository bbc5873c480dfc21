import { X509Certificate } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Command } from 'commander';
import { Option } from 'commander';
import { messageOf } from '../../api/error-message.ts';
import { partUser } from '../../server/access/identity/users.ts';
import { trustedCertificates } from '../../server/pki/authority.ts';
import { issue } from '../../server/pki/issue.ts';
import { authoritiesOf, clustersOf } from '../up/stored-clusters.ts';
import type { KnownCluster } from '../up/stored-clusters.ts';
import { codesOf, FatalError, UsageError } from '../errors.ts';
import { flagError } from '../options/flags.ts';
import { parseDuration } from '../options/duration.ts';
import type { Streams } from '../output.ts';
import { kubeconfig } from '../up/kubeconfig.ts';
import { partNames } from '../up/parts.ts';

interface UserFlags {
  readonly group: readonly string[];
  readonly cluster: readonly string[];
  readonly expires: string;
  readonly output?: string;
  readonly part?: boolean;
  readonly dataDir: string;
}

const mastersWarning =
  'warning: system:masters may do everything, and this cannot be taken back until the certificate expires or the ' +
  'authority is rotated\n';

const collected = (value: string, before: readonly string[]): readonly string[] => [...before, value];

export function define(command: Command): void {
  command
    .usage('add NAME [flags]')
    .description(
      'Write a kubeconfig for a person, or for a part that runs alone: where the clusters are, and a client certificate for each.',
    )
    .addHelpText(
      'before',
      `Example:
  fairlead user add alice --group developers
  kubectl create rolebinding alice --clusterrole edit --user alice --namespace shop
  kubectl --kubeconfig alice.kubeconfig --namespace shop get services
  fairlead user add controllers --part && fairlead controllers --kubeconfig controllers.kubeconfig
`,
    )
    .argument('<action>', 'add')
    .argument('<name>', 'the user, as access rules name them')
    .addOption(new Option('--group <GROUP>', 'a group the user is in (repeatable)').argParser(collected).default([]))
    .addOption(
      new Option('--cluster <NAME>', 'a cluster that the user may connect to (repeatable; default all)')
        .argParser(collected)
        .default([]),
    )
    .option('--part', 'NAME is a part of Fairlead; its rights are there already, in the role fairlead:NAME')
    .option('--expires <DURATION>', 'how long the certificate is good for, such as 12h or 90d', '365d')
    .option('-o, --output <FILE>', 'where to write it; - for standard output (default NAME.kubeconfig)')
    .option('--data-dir <DIR>', 'data directory of the server', '.fairlead')
    .addHelpText(
      'after',
      `
The user may do nothing until a role is bound to them or to one of their groups. The certificate cannot be taken back
before it expires, only with its authority: keep it short, or remove the bindings.\n`,
    );
}

export async function execute(command: Command, { out, err }: Streams): Promise<number> {
  const [action = '', name = ''] = command.args;
  if (action !== 'add') throw new UsageError(`unknown action "${action}" of user: expected add`);
  const flags = command.opts<UserFlags>();
  if (flags.part === true) checkPart(name, flags);
  else checkName('user', name);
  const user = flags.part === true ? partUser(name) : name;
  for (const group of flags.group) checkName('group', group);
  const seconds = flagError('expires', flags.expires, () => parseDuration(flags.expires));
  const authorities = await authoritiesOf(flags.dataDir);
  const now = new Date();
  const clusters = await Promise.all(
    chosen(await clustersOf(flags.dataDir), flags.cluster).map(async ({ name: cluster, server }) => {
      const authority = authorities.get(cluster);
      if (authority === undefined) throw new FatalError(`cluster "${cluster}" has no certificates: start its server`);
      checkLife(authority.pair.cert, now, seconds);
      const pair = await issue(
        authority.pair,
        { use: 'client', commonName: user, groups: [...new Set(flags.group)] },
        { now, days: seconds / 86_400 },
      );
      return { name: cluster, server, ca: trustedCertificates(authority), pair };
    }),
  );
  if (flags.group.includes('system:masters')) err(mastersWarning);
  const text = kubeconfig({ clusters, user });
  const file = flags.output ?? `${name.replaceAll(/[^\w.@-]/g, '-')}.kubeconfig`;
  if (file === '-') {
    out(text);
    return 0;
  }
  await writeNew(file, text);
  const expires = new Date(now.getTime() + seconds * 1000).toISOString().slice(0, 10);
  err(`${file}: user "${user}", good until ${expires}\n`);
  return 0;
}

/** A part has the rights of its role; a group would give it more. */
function checkPart(name: string, { group }: UserFlags): void {
  const known: readonly string[] = partNames.filter((part) => part !== 'server' && part !== 'dashboard');
  if (!known.includes(name)) throw new UsageError(`part "${name}": the parts are ${known.join(', ')}`);
  if (group.length > 0) throw new UsageError('--group does not go with --part: a part has the rights of its role');
}

/** Names that the system itself uses would give a person its rights; control characters hide what a name is. */
function checkName(what: 'user' | 'group', name: string): void {
  if (name === '' || name.trim() !== name)
    throw new UsageError(`${what} "${name}": expected a name without spaces around`);
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(name))
    throw new UsageError(`${what} ${JSON.stringify(name)}: expected printable characters`);
  if (what === 'user' && name.startsWith('system:')) {
    throw new UsageError(`user "${name}": names that begin with "system:" are the system's own`);
  }
}

function chosen(known: readonly KnownCluster[], wanted: readonly string[]): readonly KnownCluster[] {
  if (wanted.length === 0) return known;
  return wanted.map((name) => {
    const cluster = known.find((candidate) => candidate.name === name);
    if (cluster !== undefined) return cluster;
    const names = known.map((candidate) => candidate.name).join(', ');
    throw new UsageError(`no cluster "${name}" in this data directory: there are ${names}`);
  });
}

/** A certificate that outlives its authority would stop working earlier than it says. */
function checkLife(ca: string, now: Date, seconds: number): void {
  const end = new X509Certificate(ca).validToDate;
  if (now.getTime() + seconds * 1000 <= end.getTime()) return;
  throw new UsageError(`--expires is after the end of the certificate authority (${end.toISOString().slice(0, 10)})`);
}

/** Never over a file that exists: it may be somebody's only key. */
async function writeNew(path: string, text: string): Promise<void> {
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    const why = codesOf(error).includes('EEXIST') ? 'it exists: remove it or pass -o FILE' : messageOf(error);
    throw new FatalError(`cannot write ${path}: ${why}`, { cause: error });
  }
}
