// The Node of this machine: labels, capacity, conditions. No clock, no I/O.
import { isDeepStrictEqual } from 'node:util';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { MachineFacts, MachineUsage } from './machine.ts';

type NodeStatus = Node['status'];
type NodeCondition = NonNullable<NodeStatus['conditions']>[number];

export interface NodeInput {
  readonly name: string;
  readonly facts: MachineFacts;
  readonly usage: MachineUsage;
  readonly addresses: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly maxPods: number;
  /** The range of addresses of Pods that others may know; undefined: the Node reports none. */
  readonly podRange: string | undefined;
  /** The port of the agent's server; 0: it has none. */
  readonly port: number;
  readonly version: string;
  /** Why the agent cannot run Pods; empty: it can. */
  readonly problems: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The labels that describe a machine, and those that were configured. */
export const nodeLabels = ({ name, facts, labels }: NodeInput): Readonly<Record<string, string>> => ({
  'kubernetes.io/hostname': name,
  'kubernetes.io/os': 'linux',
  'kubernetes.io/arch': facts.architecture,
  'beta.kubernetes.io/os': 'linux',
  'beta.kubernetes.io/arch': facts.architecture,
  ...labels,
});

/** What Pods may use; the machine keeps nothing back. */
export const capacityOf = (facts: MachineFacts, maxPods: number): Readonly<Record<string, string>> => ({
  cpu: String(facts.cpus),
  memory: `${Math.floor(facts.memoryBytes / 1024)}Ki`,
  'ephemeral-storage': `${Math.floor(facts.diskBytes / 1024)}Ki`,
  pods: String(maxPods),
});

/** Memory below which the machine reports pressure: the kubelet's threshold. */
const leastMemoryBytes = 100 << 20;
/** Shares of free disk and inodes below which it reports pressure, as the kubelet. */
const leastDiskShare = 0.1;
const leastInodeShare = 0.05;

export function nodeStatus(input: NodeInput, old: Node | undefined): NodeStatus {
  const { facts, addresses, maxPods, port, version } = input;
  const capacity = capacityOf(facts, maxPods);
  return {
    capacity,
    allocatable: capacity,
    conditions: conditionsOf(input, old),
    addresses: [
      ...addresses.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: input.name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    nodeInfo: {
      machineID: facts.machineId,
      systemUUID: facts.systemUuid,
      bootID: facts.bootId,
      kernelVersion: facts.kernelVersion,
      osImage: facts.osImage,
      containerRuntimeVersion: `process://${version}`,
      kubeletVersion: `v${version}`,
      kubeProxyVersion: `v${version}`,
      operatingSystem: 'linux',
      architecture: facts.architecture,
    },
  };
}

type Verdict = Pick<NodeCondition, 'type' | 'status'> & { readonly reason: string; readonly message: string };

function conditionsOf(input: NodeInput, old: Node | undefined): readonly NodeCondition[] {
  const { usage, problems, now } = input;
  const hasMemory = usage.freeMemoryBytes >= leastMemoryBytes;
  const hasDisk = usage.freeDiskShare >= leastDiskShare && usage.freeInodeShare >= leastInodeShare;
  const verdicts: readonly Verdict[] = [
    pressure('MemoryPressure', hasMemory, [
      'KubeletHasSufficientMemory',
      'KubeletHasInsufficientMemory',
      'memory available',
    ]),
    pressure('DiskPressure', hasDisk, ['KubeletHasNoDiskPressure', 'KubeletHasDiskPressure', 'disk pressure']),
    pressure('PIDPressure', true, ['KubeletHasSufficientPID', 'KubeletHasInsufficientPID', 'PID available']),
    problems.length === 0
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
      : { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: problems.join(', ') },
  ];
  return verdicts.map((verdict): NodeCondition => {
    const before = old?.status.conditions?.find(({ type }) => type === verdict.type);
    const isSame = before?.status === verdict.status && before.lastTransitionTime !== undefined;
    return {
      ...verdict,
      lastHeartbeatTime: timestamp(now),
      lastTransitionTime: isSame ? before.lastTransitionTime : timestamp(now),
    };
  });
}

function pressure(
  type: string,
  isFine: boolean,
  [fine, bad, what]: readonly [fine: string, bad: string, what: string],
): Verdict {
  const has = type === 'DiskPressure' ? ['has no', 'has'] : ['has sufficient', 'has insufficient'];
  return isFine
    ? { type, status: 'False', reason: fine, message: `kubelet ${has[0]} ${what}` }
    : { type, status: 'True', reason: bad, message: `kubelet ${has[1]} ${what}` };
}

/** Whether a status differs from the one in the API in more than the times of heartbeats. */
export function differs(status: NodeStatus, old: NodeStatus): boolean {
  const { conditions = [], ...rest } = status;
  const isChanged = conditions.some((condition) => {
    const before = old.conditions?.find(({ type }) => type === condition.type);
    return (
      before?.status !== condition.status || before.reason !== condition.reason || before.message !== condition.message
    );
  });
  // A cast: the keys of a status.
  const others = Object.entries(rest).some(([key, value]) => !isDeepStrictEqual(old[key as keyof NodeStatus], value));
  return isChanged || others;
}

/** The labels to set in a Node that exists; undefined: all are set. */
export function missingLabels(
  wanted: Readonly<Record<string, string>>,
  { metadata }: Node,
): Readonly<Record<string, string>> | undefined {
  const missing = Object.entries(wanted).filter(([key, value]) => metadata.labels?.[key] !== value);
  return missing.length === 0 ? undefined : Object.fromEntries(missing);
}
