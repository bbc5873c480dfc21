import { join as joinPath } from 'node:path';
import type { Command } from 'commander';
import { Option } from 'commander';
import { messageOf } from '../../api/error-message.ts';
import type { SeedPolicy } from '../../multicluster/merge/merged.ts';
import type { MemberEntry } from '../../multicluster/multicluster.ts';
import { endpointRangesOf } from '../../multicluster/guard/policy.ts';
import { Vips } from '../../multicluster/member/vips.ts';
import { readIfPresent } from '../../server/pki/files.ts';
import { clustersOf } from '../up/stored-clusters.ts';
import { FatalError, UsageError } from '../errors.ts';
import { parseGoDuration } from '../part/duration.ts';
import type { Streams } from '../output.ts';
import { outputFlag, readOutput, rendered } from '../output.ts';
import type { State } from '../up/state.ts';
import { defaultRanges } from '../up/ranges.ts';
import { connectTo, entriesOf } from './entries.ts';
import { readMembers } from './follow-members.ts';
import { join, leave, list } from './membership.ts';
import type { Shown } from './show.ts';
import { showExplanation, showPlan, showWhy } from './show.ts';
import type { Snapshot } from './snapshot.ts';
import { takeSnapshot } from './snapshot.ts';
import { showStatus } from './status.ts';

interface McsFlags {
  readonly members?: string;
  readonly dataDir: string;
  readonly kubeconfig?: string;
  readonly id?: string;
  readonly superclusterIpRange?: string;
  readonly endpointRange?: string;
  readonly cluster?: string;
  readonly from?: string;
  readonly zone: 'supercluster' | 'clusterset';
  readonly dns?: string;
  readonly conflicts: SeedPolicy;
  readonly denyExportNamespaces?: string;
  readonly force?: true;
  readonly timeout: string;
}

/** `fairlead mcs`: who is in a set of clusters, and what becomes of their Services. */
export function define(command: Command): void {
  command
    .usage('ACTION [flags]')
    .description('Manage a set of clusters that share Services, and ask what becomes of a Service in it.')
    .addHelpText('before', examples)
    .argument('<action>', 'join, leave, list, plan, explain, why or status')
    .argument('[arguments...]')
    .option('--members <FILE>', 'the members of the set (default: the clusters of a running `fairlead up`)')
    .option('--data-dir <DIR>', 'data directory of that `fairlead up`', '.fairlead')
    .option('--kubeconfig <FILE>', 'join: where the context is (default: what kubectl reads)')
    .option('--id <ID>', 'join: the id of the cluster in the set (default: the context)')
    .option('--supercluster-ip-range <CIDR,...>', 'join: addresses of imports (default: those of derived Services)')
    .option(
      '--endpoint-range <CIDR,...>',
      'join: where endpoints of the cluster may be (default: not where other members have addresses)',
    )
    .option(
      '--force',
      'join: accept an id that other members still use for another cluster; leave: do not wait until the cluster is withdrawn',
    )
    .option('--timeout <DURATION>', 'leave: how long to wait', '60s')
    .option('--cluster <ID>', 'plan: which cluster would export')
    .option('--from <ID>', 'why: the cluster to look from (default: the first one in which a step is broken)')
    .addOption(
      new Option('--zone <ZONE>', 'why: which name').choices(['supercluster', 'clusterset']).default('supercluster'),
    )
    .option('--dns <ADDR:PORT>', 'why: the DNS server of the cluster in --from (default: that of `fairlead up`)')
    .addOption(
      new Option('--conflicts <POLICY>', 'the value of the same flag of the controller')
        .choices(['Withdraw', 'OldestWins', 'Quarantine'])
        .default('Withdraw'),
    )
    .option('--deny-export-namespaces <NAMESPACE,...>', 'the value of the same flag of the controller')
    .addOption(outputFlag());
}

const examples = `Example:
  fairlead mcs status                                  # of the clusters of \`fairlead up\`
  fairlead mcs plan export shop/web --cluster west     # what would happen
  fairlead mcs explain shop/web                        # who exports it, and every conflict
  fairlead mcs why shop/web --from west                # which step is broken
  fairlead mcs join prod-eu --members members.yaml     # a context of your kubeconfig
  fairlead mcs leave prod-eu --members members.yaml
`;

/** A cluster of the set is unreadable or rejected: the exit code of `list` and `status`. */
const unreadable = 3;

export async function execute(command: Command, { out, err }: Streams): Promise<number> {
  const [action = '', ...args] = command.args;
  const flags = command.opts<McsFlags>();
  switch (action) {
    case 'join': {
      const context = one(args, 'the context of the cluster, as in `fairlead mcs join prod-eu --members members.yaml`');
      const options = { isForced: flags.force === true };
      out(`${await join(membersOf(flags), memberOf(context, flags), options)}\n`);
      return 0;
    }
    case 'leave': {
      const options = { isForced: flags.force === true, timeoutMs: parseGoDuration(flags.timeout) };
      out(`${await leave(membersOf(flags), one(args, 'the id of the cluster'), options)}\n`);
      return 0;
    }
    case 'list':
    case 'plan':
    case 'explain':
    case 'why':
    case 'status': {
      await using snapshot = await takeSnapshot(
        await entries(flags),
        { seedPolicy: flags.conflicts, deniedNamespaces: flags.denyExportNamespaces?.split(',') },
        (ids) => err(`waiting for an answer of ${ids.join(', ')}\n`),
      );
      const shown = await show(action, args, { flags, snapshot });
      out(await rendered(readOutput(command), shown.value, () => shown.lines));
      if (action === 'list' || action === 'status') return snapshot.problems().length === 0 ? 0 : unreadable;
      return shown.isWell ? 0 : 1;
    }
    default:
      throw new UsageError(
        `unknown action "${action}" of mcs: expected join, leave, list, plan, explain, why or status`,
      );
  }
}

async function show(
  action: 'list' | 'plan' | 'explain' | 'why' | 'status',
  args: readonly string[],
  { flags, snapshot }: { readonly flags: McsFlags; readonly snapshot: Snapshot },
): Promise<Shown> {
  switch (action) {
    case 'list':
      return list(snapshot);
    case 'status':
      return showStatus(snapshot, args[0] === undefined ? undefined : keyOf(args[0]));
    case 'explain':
      return showExplanation(snapshot, keyOf(one(args, 'NAMESPACE/NAME')));
    case 'plan':
      return planOf(snapshot, args, flags);
    case 'why':
      return await whyOf(snapshot, keyOf(one(args, 'NAMESPACE/NAME')), flags);
  }
}

function planOf(snapshot: Snapshot, [verb, ...rest]: readonly string[], { cluster }: McsFlags): Shown {
  if (verb !== 'export' && verb !== 'unexport') {
    throw new UsageError('plan what? expected `plan export NAMESPACE/NAME --cluster ID`, or unexport');
  }
  if (cluster === undefined) throw new UsageError('which cluster would do it? pass --cluster ID');
  return showPlan(snapshot, keyOf(one(rest, 'NAMESPACE/NAME')), { verb, cluster });
}

async function whyOf(snapshot: Snapshot, key: string, { from, zone, dns, dataDir, members }: McsFlags): Promise<Shown> {
  if (dns !== undefined && from === undefined)
    throw new UsageError('--dns needs --from: it is the DNS server of that cluster');
  const shape = zone === 'supercluster' ? 'seed' : 'current';
  return showWhy(snapshot, key, {
    from,
    shape,
    dnsOf: async (cluster) => dns ?? (members === undefined ? await dnsOf(dataDir, cluster) : undefined),
  });
}

/** The members of the file, or the clusters of `up`, which have their ranges by their order. */
async function entries({ members, dataDir }: McsFlags): Promise<readonly MemberEntry[]> {
  if (members !== undefined) return entriesOf(await readMembers(members), members);
  const kubeconfig = joinPath(dataDir, 'kubeconfig');
  const clusters = await clustersOf(dataDir).catch((cause: unknown) => {
    throw new FatalError(`${messageOf(cause)}; for clusters of your own pass --members FILE`, { cause });
  });
  return clusters.map(({ name }, index): MemberEntry => ({
    id: name,
    connect: () => connectTo({ kubeconfig: 'kubeconfig', context: name }, kubeconfig),
    vips: new Vips([defaultRanges(index).supercluster]),
    policy: { endpointRanges: endpointRangesOf(['0.0.0.0/0', '::/0']) },
  }));
}

async function dnsOf(dataDir: string, cluster: string): Promise<string | undefined> {
  const text = await readIfPresent(joinPath(dataDir, 'state.json'));
  if (text === undefined) return undefined;
  const { clusters } = JSON.parse(text) as State; // as `up` writes it
  const dns = clusters.find(({ name }) => name === cluster)?.dns;
  return dns === undefined ? undefined : `${dns.address}:${dns.port}`;
}

function memberOf(context: string, { kubeconfig, id, superclusterIpRange, endpointRange }: McsFlags) {
  return {
    id: id ?? context,
    context,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(superclusterIpRange === undefined ? {} : { superclusterCIDRs: superclusterIpRange.split(',') }),
    ...(endpointRange === undefined ? {} : { endpointCIDRs: endpointRange.split(',') }),
  };
}

function membersOf({ members }: McsFlags): string {
  if (members === undefined)
    throw new UsageError('the clusters of `fairlead up` are its members; for others pass --members FILE');
  return members;
}

function one(args: readonly string[], what: string): string {
  const [first, ...others] = args;
  if (first === undefined || others.length > 0) throw new UsageError(`expected ${what}`);
  return first;
}

function keyOf(text: string): string {
  if (!/^[^/]+\/[^/]+$/.test(text)) throw new UsageError(`expected NAMESPACE/NAME, such as shop/web, found "${text}"`);
  return text;
}
