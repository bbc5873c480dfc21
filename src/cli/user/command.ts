import { X509Certificate } from 'node:crypto';
import { open } from 'node:fs/promises';
import { fileErrorOf } from '../../api/error-message.ts';
import { partUser } from '../../server/access/identity/users.ts';
import { nodePrefix, nodesGroup } from '../../server/access/node/identity.ts';
import { trustedCertificates } from '../../server/pki/authority.ts';
import { issue } from '../../server/pki/issue.ts';
import type { Action, Command } from '../command.ts';
import { codesOf, FatalError, UsageError } from '../errors.ts';
import { booleanFlag, readFlag, textOf } from '../options/flags.ts';
import { durationFrom, parseBoolean } from '../options/values.ts';
import { parts } from '../parts.ts';
import { kubeconfig } from '../up/kubeconfig.ts';
import type { KnownCluster } from '../up/stored-clusters.ts';
import { authoritiesOf, clustersOf, dataDirFlag, dataDirOf } from '../up/stored-clusters.ts';

const mastersWarning =
  'warning: system:masters has every right, and it cannot be revoked until the certificate expires or the authority is ' +
  'rotated\n';

const add: Action = {
  usage: 'NAME',
  summary: 'write a kubeconfig with a client certificate for each cluster',
  description:
    'Write a kubeconfig for a person, or for a component that runs alone, with a client certificate for each cluster.',
  notes:
    'The user has no rights until a role is bound to the user or one of the groups. The certificate cannot be revoked before ' +
    'it expires, only with its authority: choose a short --expires, or remove the bindings.',
  examples: [
    'fairlead user add alice --group developers',
    'kubectl create rolebinding alice --clusterrole edit --user alice --namespace shop',
    'kubectl --kubeconfig alice.kubeconfig --namespace shop get services',
    'fairlead user add node-1 --node && fairlead agent --kubeconfig node-1.kubeconfig',
    'fairlead user add controllers --part && fairlead controllers --kubeconfig controllers.kubeconfig',
  ],
  flags: [
    { name: 'group', value: 'GROUP', description: 'a group of the user', repeatable: true },
    {
      name: 'cluster',
      value: 'NAME',
      description: 'a cluster that the user may connect to',
      repeatable: true,
      default: 'all',
    },
    {
      name: 'node',
      ...booleanFlag,
      description: 'NAME is a machine; its agent may only change its own Node and the Pods that are bound to it',
    },
    { name: 'part', ...booleanFlag, description: 'NAME is a component of Fairlead; its role is fairlead:NAME' },
    {
      name: 'expires',
      value: 'DURATION',
      description: 'validity of the certificate, such as 12h or 90d',
      default: '365d',
    },
    {
      name: 'output',
      short: 'o',
      value: 'FILE',
      description: 'file to write; - for standard output',
      default: 'NAME.kubeconfig',
    },
    dataDirFlag,
  ],
  async run({ args: [name = ''], settings, streams: { out, err } }) {
    const groups = settings.get('group') ?? [];
    const isPart = readFlag(settings, 'part', parseBoolean, false);
    if (isPart) checkPart(name, groups);
    else checkName('user', name);
    const isNode = readFlag(settings, 'node', parseBoolean, false);
    if (isNode && isPart) throw new UsageError('--node cannot be combined with --part: choose one');
    const user = isPart ? partUser(name) : isNode ? `${nodePrefix}${name}` : name;
    const allGroups = isNode ? [...groups, nodesGroup] : groups;
    for (const group of groups) checkName('group', group);
    const validMs = readFlag(settings, 'expires', durationFrom(1000, '1s'), 365 * dayMs);
    const dataDir = dataDirOf(settings);
    const authorities = await authoritiesOf(dataDir);
    const now = new Date();
    const clusters = await Promise.all(
      chosen(await clustersOf(dataDir), settings.get('cluster') ?? []).map(async ({ name: cluster, server }) => {
        const authority = authorities.get(cluster);
        if (authority === undefined) throw new FatalError(`cluster "${cluster}" has no certificates: start its server`);
        checkLife(authority.pair.cert, now, validMs);
        const pair = await issue(
          authority.pair,
          { use: 'client', commonName: user, groups: [...new Set(allGroups)] },
          { now, days: validMs / dayMs },
        );
        return { name: cluster, server, ca: trustedCertificates(authority), pair };
      }),
    );
    if (groups.includes('system:masters')) err(mastersWarning);
    const text = kubeconfig({ clusters, user });
    const file = textOf(settings, 'output') ?? `${name.replaceAll(/[^\w.@-]/g, '-')}.kubeconfig`;
    if (file === '-') {
      out(text);
      return 0;
    }
    await writeNew(file, text);
    const expires = new Date(now.getTime() + validMs).toISOString().slice(0, 10);
    err(`${file}: user "${user}", valid until ${expires}\n`);
    return 0;
  },
};

export const command: Command = { examples: add.examples, flags: [], actions: { add } };

const dayMs = 86_400_000;

/** A part has the rights of its role; a group would give it more. */
function checkPart(name: string, groups: readonly string[]): void {
  const known = Object.keys(parts);
  if (name === 'agent')
    throw new UsageError('an agent is a node: run `fairlead user add NAME --node` with the name of the machine');
  if (!known.includes(name)) throw new UsageError(`unknown component "${name}": expected ${known.join(', ')}`);
  if (groups.length > 0)
    throw new UsageError('--group cannot be combined with --part: a component has the rights of its role');
}

/** Names of the system would give a person its rights; control characters make a name resemble another. */
function checkName(what: 'user' | 'group', name: string): void {
  if (name === '' || name.trim() !== name)
    throw new UsageError(`${what} "${name}": expected a name without spaces around`);
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(name))
    throw new UsageError(`${what} ${JSON.stringify(name)}: expected printable characters`);
  if (what === 'user' && name.startsWith('system:')) {
    throw new UsageError(`user "${name}": names that begin with "system:" are reserved`);
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

/** A certificate is not valid longer than its authority. */
function checkLife(ca: string, now: Date, validMs: number): void {
  const end = new X509Certificate(ca).validToDate;
  if (now.getTime() + validMs <= end.getTime()) return;
  throw new UsageError(`--expires is after the end of the certificate authority (${end.toISOString().slice(0, 10)})`);
}

/** Does not overwrite a file: it may hold the only copy of a key. */
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
    const why = codesOf(error).includes('EEXIST') ? 'the file exists: remove it or pass -o FILE' : fileErrorOf(error);
    throw new FatalError(`cannot write ${path}: ${why}`, { cause: error });
  }
}
