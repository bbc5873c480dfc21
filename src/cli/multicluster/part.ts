import { endpointRangesOf } from '../../multicluster/guard/policy.ts';
import { Vips } from '../../multicluster/member/vips.ts';
import type { ProbeTimes } from '../../multicluster/member/options.ts';
import { defaultMemberLimit, defaultSourceLeaseMs, probeTimesOf } from '../../multicluster/member/options.ts';
import type { ConflictPolicy } from '../../multicluster/merge/merged.ts';
import type { MemberEntry } from '../../multicluster/member/entry.ts';
import type { MulticlusterOptions } from '../../multicluster/multicluster.ts';
import { UsageError } from '../errors.ts';
import type { MembersFile } from '../mcs/members-file.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { readFlag } from '../options/flags.ts';
import { countBetween, listOf, nonEmpty, oneOf, parseDuration, parseNamespace } from '../options/values.ts';
import type { Election } from '../part/leader-flags.ts';
import { leaderFlags, longestTakeoverMs, readElection } from '../part/leader-flags.ts';
import type { LoadPart, Part, StartContext, UpCluster } from '../part/part.ts';
import { version } from '../program.ts';
import { readWebhook, webhookFlags } from './webhook.ts';

const lease = 'fairlead-multicluster';

export const conflictPolicies = ['Withdraw', 'OldestWins', 'Quarantine'] as const satisfies readonly ConflictPolicy[];

/** Flags that `fairlead mcs` needs as well, to read the clusters as the controller does. */
export const mergeFlags: readonly Flag[] = [
  {
    name: 'conflicts',
    value: 'POLICY',
    description: 'what to do with an ImportedService whose exports are in conflict',
    choices: conflictPolicies,
    default: 'Withdraw',
  },
  {
    name: 'deny-export-namespaces',
    value: 'NAMESPACE,…',
    description: 'namespaces from which no cluster may export, such as kube-system',
    default: 'none',
  },
];

export const membersFlag: Flag = {
  name: 'members',
  value: 'FILE',
  description: 'members of the cluster set; `fairlead mcs join` writes the file',
};

const memberNamespaceFlag: Flag = {
  name: 'member-namespace',
  value: 'NAMESPACE',
  description: 'namespace of the ClusterMembers and their Secrets, which are members too',
  default: 'none',
};

const flags: readonly Flag[] = [
  membersFlag,
  memberNamespaceFlag,
  {
    name: 'target',
    value: 'ID,…',
    description: 'members to write to; the other members are only read',
    default: 'all',
  },
  ...mergeFlags,
  { name: 'set-name', value: 'NAME', description: 'name of the cluster set', default: 'fairlead' },
  {
    name: 'window',
    value: 'DURATION',
    description: 'changes of a service within this time are written together',
    default: '100ms',
  },
  {
    name: 'source-lease-duration',
    value: 'DURATION',
    description: 'how long the endpoints of an unreachable cluster are kept; must be longer than an election takes',
    default: `${defaultSourceLeaseMs / 1000}s`,
  },
  {
    name: 'max-objects-per-member',
    value: 'N',
    description: 'maximum objects to read from one cluster; a cluster with more is not read',
    default: `${defaultMemberLimit.objects}`,
  },
  {
    name: 'max-bytes-per-member',
    value: 'N',
    description: 'maximum bytes that the API server of one cluster may send for these objects',
    default: `${defaultMemberLimit.bytes}`,
  },
  ...webhookFlags,
  ...leaderFlags(lease),
];

/** `fairlead multicluster`: shares the Services of several clusters. */
export const part: Part = {
  name: 'multicluster',
  description:
    'Share the Services of several clusters: a Service that one cluster exports can be used in all of them. --kubeconfig and ' +
    '--context select the cluster in which replicas elect their leader.',
  examples: [
    'fairlead mcs join east --members members.yaml && fairlead mcs join west --members members.yaml',
    'fairlead multicluster --members members.yaml --context east',
    'fairlead multicluster --member-namespace fairlead-system     # members are objects',
  ],
  health: 10_358,
  flags,
  alone: (settings) => async () => {
    const path = readFlag<string | undefined>(settings, 'members', nonEmpty('a path'), undefined);
    const namespace = readFlag<string | undefined>(settings, 'member-namespace', parseNamespace, undefined);
    if (path === undefined && namespace === undefined)
      throw new UsageError(
        'no members: pass --member-namespace NAMESPACE or --members FILE; `fairlead mcs join` adds members to either',
      );
    const targets = readFlag(settings, 'target', parseTargets, undefined);
    const options = {
      ...readOptions(settings, targets),
      targets,
      objects: namespace === undefined ? undefined : { namespace, userAgent: `fairlead-multicluster/${version}` },
    };
    if (path === undefined) return load(() => options)();
    const { readMembers, followMembers } = await import('../mcs/follow-members.ts');
    const first = await readMembers(path);
    if (namespace === undefined) checkTargets(targets, first, path);
    return load(({ log }) => ({
      ...options,
      members(change, signal) {
        const following = followMembers({ path, first, log }, change, signal);
        following.catch((error: unknown) => log.error({ err: error }, 'members file is no longer followed'));
      },
    }))();
  },
  isOneForAll: true,
  inUp: (cluster) => {
    const options = readOptions(cluster.settings ?? new Map());
    return load((context) => inUpOptions(cluster, options, context));
  },
};

/** Throws when a target is not a member: a controller without a cluster would do nothing, without an error. */
export function checkTargets(targets: readonly string[] | undefined, { members }: MembersFile, path: string): void {
  const ids = members.map(({ id }) => id);
  const unknown = targets?.find((target) => !ids.includes(target));
  if (unknown === undefined) return;
  throw new UsageError(`--target ${unknown} is not a member: ${path} has ${ids.join(', ')}`);
}

const load =
  (options: (context: StartContext) => MulticlusterOptions): LoadPart =>
  async () => {
    const { startMulticluster } = await import('../../multicluster/multicluster.ts');
    return (context) => startMulticluster(context, options(context));
  };

/** The settings of a merge. */
export const mergeOptionsOf = (settings: Settings) => ({
  conflictPolicy: readFlag(settings, 'conflicts', oneOf(conflictPolicies), 'Withdraw'),
  deniedNamespaces: readFlag(settings, 'deny-export-namespaces', listOf(parseNamespace), []),
});

function readOptions(settings: Settings, targets?: readonly string[]): Omit<MulticlusterOptions, 'members'> {
  const probeTimes = probeTimesOf(readFlag(settings, 'source-lease-duration', parseLease, defaultSourceLeaseMs));
  // Controllers with different targets may elect their leaders in the same cluster.
  const leaderElection = readElection(settings, [lease, ...(targets ?? [])].join('-'));
  if (leaderElection !== undefined) checkTakeover(probeTimes, leaderElection);
  return {
    ...mergeOptionsOf(settings),
    setName: readFlag(settings, 'set-name', nonEmpty('a name'), 'fairlead'),
    windowMs: readFlag(settings, 'window', parseDuration, 100),
    probeTimes,
    memberLimit: {
      objects: readFlag(settings, 'max-objects-per-member', countBetween(1), defaultMemberLimit.objects),
      bytes: readFlag(settings, 'max-bytes-per-member', countBetween(1), defaultMemberLimit.bytes),
    },
    leaderElection,
    webhook: readWebhook(settings),
  };
}

/** Leases must not expire before another controller can renew them: all endpoints of other clusters would be removed. */
function checkTakeover({ durationMs, renewMs }: ProbeTimes, election: Election): void {
  // A controller may crash just before a renewal; a second renewal is the margin.
  const leastMs = (longestTakeoverMs(election) * durationMs) / (durationMs - 2 * renewMs);
  if (durationMs >= leastMs) return;
  throw new UsageError(
    `--source-lease-duration ${durationMs / 1000}s is too short: a new leader is elected within up to ${longestTakeoverMs(election) / 1000}s ` +
      '(--leader-elect-lease-duration and 4.4 times --leader-elect-retry-period), and the endpoints of all other clusters ' +
      `would be removed meanwhile; pass at least ${Math.ceil(leastMs / 1000)}s, shorten the times of the election, or pass --leader-elect=false`,
  );
}

function parseTargets(text: string): readonly string[] {
  const ids = text.split(',').filter((id) => id !== '');
  if (ids.length === 0) throw new UsageError('expected ids of members, such as prod-eu');
  return ids.toSorted();
}

function parseLease(text: string): number {
  const ms = parseDuration(text);
  // A Lease holds whole seconds.
  if (ms < 1000 || ms % 1000 !== 0) throw new UsageError('expected whole seconds, such as 15s');
  return ms;
}

/** All clusters of `up` belong to one user, and the Pods of the demo have loopback addresses. */
const anywhere = endpointRangesOf(['0.0.0.0/0', '::/0']);

/** The clusters of an `up` as members of a set. */
export const entriesInUp = (
  { all = [], gates }: Pick<UpCluster, 'all' | 'gates'>,
  peers: StartContext['peers'],
): readonly MemberEntry[] =>
  all.map(({ name, superclusterCidrs = [] }) => ({
    id: name,
    connect() {
      const peer = peers?.get(name);
      if (peer === undefined) throw new Error(`bug: no client of cluster "${name}"`);
      return peer.connect();
    },
    policy: { endpointRanges: anywhere },
    vips: new Vips(superclusterCidrs),
    acceptsRelaxedNames: gates.enabled('RelaxedServiceNameValidation'),
    keepsSrvNames: gates.enabled('SRVServiceName'),
  }));

function inUpOptions(
  { all = [], gates }: UpCluster,
  options: Omit<MulticlusterOptions, 'members'>,
  { peers, serving }: StartContext,
): MulticlusterOptions {
  const entries = entriesInUp({ all, gates }, peers);
  // Only API servers of this process call it: their own certificate is valid for loopback.
  const webhook = serving && { listen: { host: '127.0.0.1', port: 0 }, certificate: async () => serving() };
  return {
    ...options,
    leaderElection: undefined, // `up` holds the lock of its data directory: there is no other replica
    webhook: options.webhook ?? webhook,
    members: (change) => change(entries),
  };
}
