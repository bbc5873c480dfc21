import type { Logger } from 'pino';
import { dnsLabelErrors } from '../../api/names.ts';
import { endpointRangesOf } from '../../multicluster/guard/policy.ts';
import { Vips } from '../../multicluster/member/vips.ts';
import type { ProbeTimes } from '../../multicluster/member/options.ts';
import { defaultMemberLimit, defaultSourceLeaseMs, probeTimesOf } from '../../multicluster/member/options.ts';
import type { MemberEntry, MulticlusterOptions } from '../../multicluster/multicluster.ts';
import { UsageError } from '../errors.ts';
import { oneOf, readFlag } from '../options/flags.ts';
import { readWebhook, webhookFlags } from './webhook.ts';
import { parseGoDuration } from '../part/duration.ts';
import type { Election } from '../part/leader-flags.ts';
import { leaderFlags, longestTakeoverMs, readElection } from '../part/leader-flags.ts';
import type { LoadPart, Part, StartContext, UpCluster } from '../part/part.ts';
import type { Flag, Settings } from '../settings.ts';

const lease = 'fairlead-multicluster';

const flags: readonly Flag[] = [
  { name: 'members', value: 'FILE', description: 'the clusters of the set; see `fairlead mcs join`' },
  {
    name: 'target',
    value: 'ID,…',
    description: 'the clusters to write to, by an agent of their own; the others are only read. Default: all',
  },
  {
    name: 'conflicts',
    value: 'POLICY',
    description: 'what becomes of an ImportedService about which clusters disagree: Withdraw, OldestWins or Quarantine',
    default: 'Withdraw',
  },
  {
    name: 'deny-export-namespaces',
    value: 'NAMESPACE,…',
    description: 'namespaces from which no cluster may export, such as default,kube-system. Default: none',
  },
  { name: 'set-name', value: 'NAME', description: 'what the clusters say the set is called', default: 'fairlead' },
  {
    name: 'window',
    value: 'DURATION',
    description: 'changes of a service that follow another within this time are written together',
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

/** `fairlead multicluster`: joins the Services of several clusters. */
export const part: Part = {
  name: 'multicluster',
  description:
    'Join the Services of several clusters: what one exports, all can use. --kubeconfig and --context name the cluster\nin which replicas elect who acts.',
  example: `  fairlead mcs join east --members members.yaml && fairlead mcs join west --members members.yaml
  fairlead multicluster --members members.yaml --context east`,
  health: 10_358,
  flags,
  alone: (settings) => async () => {
    const path = readFlag(settings, 'members', nonEmpty, '');
    if (path === '') throw new UsageError('which clusters? pass --members FILE; `fairlead mcs join` writes one');
    const targets = readFlag(settings, 'target', parseTargets, undefined);
    const options = readOptions(settings, targets);
    const { readMembers, followMembers } = await import('../mcs/follow-members.ts');
    const first = await readMembers(path);
    const { aimedAt, checkTargets } = await import('./targets.ts');
    checkTargets(targets, first, path);
    const { startMulticluster } = await import('../../multicluster/multicluster.ts');
    return (context) => {
      const members: MulticlusterOptions['members'] = (change, signal) => {
        const following = followMembers(
          { path, first, log: context.log },
          (entries) => change(aimedAt(targets, entries)),
          signal,
        );
        following.catch((error: unknown) => tell(context.log, error));
      };
      return startMulticluster(context, { ...options, members });
    };
  },
  isOneForAll: true,
  inUp: (cluster) => {
    const options = readOptions(cluster.settings ?? new Map());
    return load((context) => inUpOptions(cluster, options, context));
  },
};

const tell = (log: Logger, error: unknown): void => log.error({ err: error }, 'the members are no longer followed');

const load =
  (options: (context: StartContext) => MulticlusterOptions): LoadPart =>
  async () => {
    const { startMulticluster } = await import('../../multicluster/multicluster.ts');
    return (context) => startMulticluster(context, options(context));
  };

function readOptions(settings: Settings, targets?: readonly string[]): Omit<MulticlusterOptions, 'members'> {
  const probeTimes = probeTimesOf(readFlag(settings, 'source-lease-duration', parseLease, defaultSourceLeaseMs));
  // Agents of different clusters may stand for election in one.
  const leaderElection = readElection(settings, [lease, ...(targets ?? [])].join('-'));
  if (leaderElection !== undefined) checkTakeover(probeTimes, leaderElection);
  return {
    seedPolicy: readFlag(settings, 'conflicts', oneOf(['Withdraw', 'OldestWins', 'Quarantine']), 'Withdraw'),
    deniedNamespaces: readFlag(settings, 'deny-export-namespaces', parseNamespaces, []),
    setName: readFlag(settings, 'set-name', nonEmpty, 'fairlead'),
    windowMs: readFlag(settings, 'window', parseGoDuration, 100),
    probeTimes,
    memberLimit: {
      objects: readFlag(settings, 'max-objects-per-member', parseCount, defaultMemberLimit.objects),
      bytes: readFlag(settings, 'max-bytes-per-member', parseCount, defaultMemberLimit.bytes),
    },
    leaderElection,
    webhook: readWebhook(settings),
  };
}

/** Leases that ran out before another controller can renew them would cost all endpoints of other clusters. */
function checkTakeover({ durationMs, renewMs }: ProbeTimes, election: Election): void {
  // They were last renewed up to one renewal before a controller crashed; another renewal is for what goes wrong.
  const leastMs = (longestTakeoverMs(election) * durationMs) / (durationMs - 2 * renewMs);
  if (durationMs >= leastMs) return;
  throw new UsageError(
    `--source-lease-duration ${durationMs / 1000}s is too short: it takes up to ${longestTakeoverMs(election) / 1000}s until another controller ` +
      'leads (--leader-elect-lease-duration and 4.4 times --leader-elect-retry-period), and the endpoints of all other clusters ' +
      `would be removed meanwhile; pass at least ${Math.ceil(leastMs / 1000)}s, shorten the times of the election, or pass --leader-elect=false`,
  );
}

function parseNamespaces(text: string): readonly string[] {
  const names = text.split(',').filter((name) => name !== '');
  const wrong = names.find((name) => dnsLabelErrors(name).length > 0);
  if (wrong !== undefined)
    throw new UsageError(`"${wrong}" cannot be a namespace: expected names, such as kube-system`);
  return names;
}

function parseTargets(text: string): readonly string[] {
  const ids = text.split(',').filter((id) => id !== '');
  if (ids.length === 0) throw new UsageError('expected ids of members, such as prod-eu');
  return ids.toSorted();
}

function parseLease(text: string): number {
  const ms = parseGoDuration(text);
  // A Lease counts whole seconds.
  if (ms < 1000 || ms % 1000 !== 0) throw new UsageError('expected whole seconds, such as 15s');
  return ms;
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError('expected a number above zero');
  return Number(text);
}

function nonEmpty(text: string): string {
  if (text === '') throw new UsageError('expected a text');
  return text;
}

/** Endpoints can be anywhere: all clusters of `up` are of one machine and one person, and loopback is where its Pods are. */
const anywhere = endpointRangesOf(['0.0.0.0/0', '::/0']);

function inUpOptions(
  { all = [], gates }: UpCluster,
  options: Omit<MulticlusterOptions, 'members'>,
  { peers, serving }: StartContext,
): MulticlusterOptions {
  const entries = all.map(({ name, superclusterCidrs = [] }): MemberEntry => ({
    id: name,
    connect() {
      const connect = peers?.get(name);
      if (connect === undefined) throw new Error(`bug: no way to cluster "${name}"`);
      return connect();
    },
    policy: { endpointRanges: anywhere },
    vips: new Vips(superclusterCidrs),
    acceptsRelaxedNames: gates.enabled('RelaxedServiceNameValidation'),
    keepsSrvNames: gates.enabled('SRVServiceName'),
  }));
  // API servers of this process call it: their own certificate is good for loopback, and costs no time to make.
  const webhook = serving && { listen: { host: '127.0.0.1', port: 0 }, certificate: async () => serving() };
  return {
    ...options,
    leaderElection: undefined, // the data directory has one holder, so there is nobody to stand against
    webhook: options.webhook ?? webhook,
    members: (change) => change(entries),
  };
}
