import type { Snapshot } from '../../multicluster/inspect.ts';
import { takeSnapshot } from '../../multicluster/inspect.ts';
import { mcsApis } from '../../multicluster/record.ts';
import type { Action, Call, Command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { membersFlag, mergeFlags, mergeOptionsOf } from '../multicluster/part.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { booleanFlag, grouped, outputFlag, readFlag, textOf } from '../options/flags.ts';
import { durationFrom, nonEmpty, oneOf, parseBoolean, parseDuration } from '../options/values.ts';
import { rendered } from '../output.ts';
import { dataDirFlag } from '../up/stored-clusters.ts';
import type { ClusterSet } from './cluster-set.ts';
import { findSet } from './cluster-set.ts';
import type { MemberSource } from './drain.ts';
import { readMembers } from './follow-members.ts';
import { join, leave, list } from './membership.ts';
import { hubFlags, hubOf } from './hub.ts';
import type { CommandOutput } from './show.ts';
import { showExplanation, showPlan, showWhy } from './show.ts';
import { showStatus } from './status.ts';

/** The flags of actions that read the clusters of the set. */
const readFlags: readonly Flag[] = [
  outputFlag,
  ...grouped('Members', [
    { ...membersFlag, default: 'the contexts of --kubeconfig' },
    ...hubFlags
      .filter(({ name }) => name !== 'kubeconfig')
      .map((flag) =>
        flag.name === 'hub'
          ? { ...flag, description: 'context of the cluster with the ClusterMembers to read', default: 'none' }
          : flag,
      ),
    {
      name: 'kubeconfig',
      value: 'FILE',
      description: 'kubeconfig with a context for each member, named like it',
      default: '$KUBECONFIG, a `fairlead up` that runs in this directory, or ~/.kube/config',
    },
    {
      ...dataDirFlag,
      description: 'data directory of a `fairlead up` whose clusters are the members',
      default: 'none',
    },
    ...mergeFlags.map((flag) => ({ ...flag, description: `${flag.description}; as for \`fairlead multicluster\`` })),
  ]),
];

/** The exit code of an action: 0 if nothing is wrong. */
type ExitCode = (output: CommandOutput, snapshot: Snapshot) => number;

/** 1: the service has a conflict, or is missing. */
const isWell: ExitCode = ({ isWell: isFine }) => (isFine ? 0 : 1);

/** 3: a cluster of the set is unreadable or rejected. */
const isReadable: ExitCode = (_, snapshot) => (snapshot.problems().length === 0 ? 0 : 3);

/** An action that checks its arguments, then reads the clusters of the set and prints. */
const reading = (
  {
    flags = [],
    exitCode,
    ...action
  }: Omit<Action, 'run' | 'flags'> & { readonly flags?: readonly Flag[]; readonly exitCode: ExitCode },
  prepare: (call: Call) => (snapshot: Snapshot, set: ClusterSet) => CommandOutput | Promise<CommandOutput>,
): Action => ({
  ...action,
  flags: [...flags, ...readFlags],
  async run(call) {
    const { settings, streams } = call;
    const command = prepare(call);
    const set = await findSet(settings);
    if (set.source !== undefined) streams.err(`using ${set.source}\n`);
    await using snapshot = await takeSnapshot(set.entries, mergeOptionsOf(settings), (ids) =>
      streams.err(`waiting for an answer of ${ids.join(', ')}\n`),
    );
    const output = await command(snapshot, set);
    streams.out(await rendered(settings, output.value, () => output.lines));
    return exitCode(output, snapshot);
  },
});

/** The members file of a call; undefined: members are objects. */
const fileOf = (settings: Settings): string | undefined =>
  readFlag<string | undefined>(settings, 'members', nonEmpty('a path'), undefined);

const joinAction: Action = {
  usage: 'CONTEXT',
  summary: 'make a cluster a member of the set',
  description:
    'Make a cluster a member of the set. Creates an account with the least rights in it, and a ClusterMember with a token of that ' +
    'account in the cluster of --hub, whose controller renews the token. With --members, adds the context to a file instead, and creates nothing.',
  examples: [
    'fairlead mcs join prod-eu --hub management --endpoint-range 10.1.0.0/16',
    'fairlead mcs join prod-eu --members members.yaml',
  ],
  flags: [
    ...hubFlags,
    {
      name: 'server',
      value: 'URL',
      description: 'URL by which the controller reaches the cluster',
      default: 'that of the context',
    },
    { name: 'token-duration', value: 'DURATION', description: 'lifetime of its tokens, at least 10m', default: '720h' },
    { ...membersFlag, description: 'file of members to add to, in place of a ClusterMember' },
    { name: 'id', value: 'ID', description: 'ID of the cluster in the set', default: 'the context' },
    {
      name: 'supercluster-ip-range',
      value: 'CIDR,...',
      description: 'range of the addresses of imports',
      default: 'the cluster IPs of derived Services',
    },
    {
      name: 'endpoint-range',
      value: 'CIDR,...',
      description: 'allowed range of the endpoints of the cluster',
      default: 'all but the addresses of other members',
    },
    {
      name: 'force',
      ...booleanFlag,
      description: 'accept an ID that other members still use for another cluster',
    },
  ],
  async run({ args: [context = ''], settings, streams }) {
    const [file, kubeconfig] = [fileOf(settings), textOf(settings, 'kubeconfig')];
    const ranges = (name: string): readonly string[] | undefined => textOf(settings, name)?.split(',');
    const [superclusterCIDRs, endpointCIDRs] = [ranges('supercluster-ip-range'), ranges('endpoint-range')];
    const own = {
      ...(superclusterCIDRs === undefined ? {} : { superclusterCIDRs }),
      ...(endpointCIDRs === undefined ? {} : { endpointCIDRs }),
    };
    const id = textOf(settings, 'id') ?? context;
    if (file === undefined) {
      const tokenSeconds =
        readFlag(settings, 'token-duration', durationFrom(600_000, '10m'), 30 * 24 * 3_600_000) / 1000;
      const hub = hubOf(settings);
      const { joinObjects } = await import('./join-objects.ts');
      const options = { hub, id, context, server: textOf(settings, 'server'), tokenSeconds, settings: own };
      streams.out(`${await joinObjects(options)}\n`);
      return 0;
    }
    const member = { id, context, ...(kubeconfig === undefined ? {} : { kubeconfig }), ...own };
    const options = { isForced: readFlag(settings, 'force', parseBoolean, false) };
    streams.out(`${await join(file, member, options)}\n`);
    return 0;
  },
};

const leaveAction: Action = {
  usage: 'ID',
  summary: 'withdraw a cluster, and remove it from the set',
  description:
    'Withdraw the exports and imports of a cluster, and remove it from the set, with the account of the controller in it.',
  examples: ['fairlead mcs leave prod-eu --hub management', 'fairlead mcs leave prod-eu --members members.yaml'],
  flags: [
    ...hubFlags,
    { ...membersFlag, description: 'file of members to remove it from, in place of a ClusterMember' },
    {
      name: 'force',
      ...booleanFlag,
      description: 'for a cluster that no longer exists: do not wait until it is withdrawn',
    },
    { name: 'timeout', value: 'DURATION', description: 'how long to wait', default: '60s' },
  ],
  async run({ args: [id = ''], settings, streams }) {
    const options = {
      isForced: readFlag(settings, 'force', parseBoolean, false),
      timeoutMs: readFlag(settings, 'timeout', parseDuration, 60_000),
    };
    const file = fileOf(settings);
    if (file === undefined) {
      const { leaveObjects } = await import('./leave-objects.ts');
      streams.out(`${await leaveObjects({ ...options, hub: hubOf(settings), id })}\n`);
    } else streams.out(`${await leave(file, id, options)}\n`);
    return 0;
  },
};

/** Where a call configures members. */
const sourceOf = (settings: Settings): MemberSource => {
  const file = fileOf(settings);
  return file === undefined ? { hub: hubOf(settings) } : { file };
};

const drainFlags: readonly Flag[] = [
  ...hubFlags,
  { ...membersFlag, description: 'file of members to change, in place of a ClusterMember' },
];

const drainAction: Action = {
  usage: 'ID',
  summary: 'move traffic away from a cluster',
  description:
    'Move the traffic of other clusters away from a cluster: its endpoints are terminating there, so that proxies use them only if no ' +
    'others are ready. Those of a service that no other cluster has ready endpoints of stay in use. Waits until it is done.',
  examples: ['fairlead mcs drain prod-eu --hub management', 'fairlead mcs drain prod-eu --members members.yaml'],
  flags: [
    ...drainFlags,
    { name: 'timeout', value: 'DURATION', description: 'how long to wait', default: '60s' },
    ...mergeFlags.map((flag) => ({ ...flag, description: `${flag.description}; as for \`fairlead multicluster\`` })),
  ],
  async run({ args: [id = ''], settings, streams }) {
    const timeoutMs = readFlag(settings, 'timeout', parseDuration, 60_000);
    const options = { ...mergeOptionsOf(settings), timeoutMs };
    const { drained, setDraining } = await import('./drain.ts');
    await setDraining(sourceOf(settings), id, true);
    streams.out(`${await drained(sourceOf(settings), id, options)}\n`);
    return 0;
  },
};

const undrainAction: Action = {
  usage: 'ID',
  summary: 'move traffic back to a cluster',
  examples: ['fairlead mcs undrain prod-eu --hub management'],
  flags: drainFlags,
  async run({ args: [id = ''], settings, streams }) {
    const { setDraining } = await import('./drain.ts');
    await setDraining(sourceOf(settings), id, false);
    streams.out(`${id} does not drain: other clusters use its endpoints again\n`);
    return 0;
  },
};

const importAction: Action = {
  usage: 'FILE',
  summary: 'create a ClusterMember for each member of a file',
  description:
    'Create a ClusterMember and a Secret with its credentials for each member of a file, which is not changed. Credentials of ' +
    'plugins cannot be imported: join such clusters with `fairlead mcs join`.',
  examples: ['fairlead mcs import-members members.yaml --hub management'],
  flags: hubFlags,
  async run({ args: [path = ''], settings, streams }) {
    const { importMembers } = await import('./join-objects.ts');
    for (const line of await importMembers(path, await readMembers(path), hubOf(settings))) streams.out(`${line}\n`);
    return 0;
  },
};

const verbs = ['export', 'unexport'] as const;

/** `fairlead mcs`: the members of a cluster set, and the state of their Services. */
export const command: Command = {
  description: 'Manage a set of clusters that share Services, and explain the state of a Service in it.',
  examples: [
    'fairlead mcs status                                  # of the clusters of `fairlead up`',
    'fairlead mcs plan export shop/web --cluster west     # what would happen',
    'fairlead mcs explain shop/web                        # exporters and conflicts',
    'fairlead mcs why shop/web --from west                # the first broken step',
    'fairlead mcs join prod-eu --hub management           # contexts of your kubeconfig',
  ],
  flags: [],
  actions: {
    join: joinAction,
    leave: leaveAction,
    drain: drainAction,
    undrain: undrainAction,
    'import-members': importAction,
    list: reading(
      {
        summary: 'list the members and their state',
        description: 'List the members and their state. Exits with 3 if a cluster is unreadable or rejected.',
        examples: ['fairlead mcs list -o json'],
        exitCode: isReadable,
      },
      () => list,
    ),
    status: reading(
      {
        usage: '[NAMESPACE/NAME]',
        summary: 'print the state of every Service in every cluster',
        description:
          'Print the state of every Service in every cluster. Exits with 3 if a cluster is unreadable or rejected.',
        examples: ['fairlead mcs status', 'fairlead mcs status shop/web'],
        exitCode: isReadable,
      },
      ({ args: [text] }) => {
        const key = text === undefined ? undefined : keyOf(text);
        return (snapshot) => showStatus(snapshot, key);
      },
    ),
    plan: reading(
      {
        usage: 'export|unexport NAMESPACE/NAME',
        summary: 'print the effect of an export before it is made',
        description:
          'Print what would happen if a cluster exported a Service, or no longer did. Exits with 1 if there would be conflicts.',
        examples: ['fairlead mcs plan export shop/web --cluster west'],
        flags: [
          { name: 'cluster', value: 'ID', description: 'the exporting cluster (required)' },
          {
            name: 'audience',
            value: 'AUDIENCE',
            description: 'the clusters that may import it: ids and label selectors, such as "west; tier=prod"',
            default: 'that of the export; else all',
          },
        ],
        exitCode: isWell,
      },
      ({ args: [word = '', text = ''], settings }) => {
        const [verb, key] = [verbOf(word), keyOf(text)];
        const cluster = textOf(settings, 'cluster');
        if (cluster === undefined) throw new UsageError('no exporting cluster: pass --cluster ID');
        const audience = textOf(settings, 'audience');
        return (snapshot) => showPlan(snapshot, key, { verb, cluster, audience });
      },
    ),
    explain: reading(
      {
        usage: 'NAMESPACE/NAME',
        summary: 'print the exporters of a Service, and every conflict',
        description:
          'Print the exporters of a Service, the merged service and every conflict. Exits with 1 if there are conflicts.',
        examples: ['fairlead mcs explain shop/web'],
        exitCode: isWell,
      },
      ({ args: [text = ''] }) => {
        const key = keyOf(text);
        return (snapshot) => showExplanation(snapshot, key);
      },
    ),
    why: reading(
      {
        usage: 'NAMESPACE/NAME',
        summary: 'find out why a Service is missing in a cluster',
        description:
          'Check every step from the export of a Service to its DNS name in a cluster. Exits with 1 if a step is broken.',
        examples: ['fairlead mcs why shop/web --from west'],
        flags: [
          {
            name: 'from',
            value: 'ID',
            description: 'the importing cluster to check',
            default: 'the first one in which a step is broken',
          },
          {
            name: 'zone',
            value: 'ZONE',
            description: 'zone of the name',
            choices: mcsApis,
            default: 'supercluster',
          },
          {
            name: 'dns',
            value: 'ADDR:PORT',
            description: 'DNS server of the cluster in --from',
            default: 'that of `fairlead up`',
          },
        ],
        exitCode: isWell,
      },
      ({ args: [text = ''], settings }) => {
        const key = keyOf(text);
        const from = textOf(settings, 'from');
        const dns = textOf(settings, 'dns');
        if (dns !== undefined && from === undefined)
          throw new UsageError('--dns needs --from: it is the DNS server of that cluster');
        const api = readFlag(settings, 'zone', oneOf(mcsApis), 'supercluster');
        return (snapshot, set) => showWhy(snapshot, key, { from, api, dnsOf: (cluster) => dns ?? set.dnsOf(cluster) });
      },
    ),
  },
};

function verbOf(word: string): (typeof verbs)[number] {
  const verb = verbs.find((each) => each === word);
  if (verb === undefined) throw new UsageError(`expected export or unexport, found "${word}"`);
  return verb;
}

function keyOf(text: string): string {
  if (!/^[^/]+\/[^/]+$/.test(text)) throw new UsageError(`expected NAMESPACE/NAME, such as shop/web, found "${text}"`);
  return text;
}
