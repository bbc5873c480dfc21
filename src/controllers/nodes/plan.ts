// What the health of a node changes: its conditions, its taints, and the readiness of its Pods.
import type { Node } from '../../api/kinds/core/node/schema.ts';

type NodeCondition = NonNullable<Node['status']['conditions']>[number];
export type Taint = NonNullable<Node['spec']['taints']>[number];

/** Whether Pods may be evicted from a node: `wait` keeps what was decided before, `cancel` takes it back. */
export type Eviction = 'allow' | 'wait' | 'cancel';

export interface ObservedNode {
  readonly node: Node;
  /** Whether the node has not reported for longer than the grace period. */
  readonly isSilent: boolean;
  readonly eviction: Eviction;
  /** The time for timestamps, in the format of the API. */
  readonly now: string;
}

export interface NodePlan {
  /** The conditions to write; the others stay. */
  readonly conditions?: readonly NodeCondition[];
  /** All taints of the node. */
  readonly taints?: readonly Taint[];
  /** Whether Pods of the node must not be ready. */
  readonly isNotReady: boolean;
  /** Whether the taints start to evict Pods. */
  readonly evicts: boolean;
}

const notReadyTaint = 'node.kubernetes.io/not-ready';
const unreachableTaint = 'node.kubernetes.io/unreachable';

/** The conditions that a node reports. */
const reportedTypes = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** The changes for one node. Applied, the next plan for the same observation has none. */
export function planNode({ node, isSilent, eviction, now }: ObservedNode): NodePlan {
  const conditions = isSilent ? unknownConditions(node, now) : [];
  if (conditions.length > 0) return { conditions, isNotReady: true, evicts: false }; // taints follow from them
  const ready = readyStatus(node);
  const old = node.spec.taints ?? [];
  const taints = tainted(old, { ready, eviction, now });
  return {
    ...(taints === undefined ? {} : { taints }),
    isNotReady: ready === 'False' || ready === 'Unknown',
    evicts: taints !== undefined && taints.some(isEvicting) && !old.some(isEvicting),
  };
}

/** The status of the condition Ready; undefined if the node never reported. */
export const readyStatus = ({ status }: Node): string | undefined =>
  status.conditions?.find(({ type }) => type === 'Ready')?.status;

/** The reported conditions that are not Unknown yet. */
function unknownConditions({ metadata, status }: Node, now: string): readonly NodeCondition[] {
  return reportedTypes.flatMap((type): NodeCondition[] => {
    const old = status.conditions?.find((condition) => condition.type === type);
    if (old?.status === 'Unknown') return [];
    const changed = { type, status: 'Unknown', lastTransitionTime: now };
    return old === undefined
      ? [
          {
            ...changed,
            lastHeartbeatTime: metadata.creationTimestamp ?? now,
            reason: 'NodeStatusNeverUpdated',
            message: 'Kubelet never posted node status.',
          },
        ]
      : [
          {
            ...changed,
            lastHeartbeatTime: old.lastHeartbeatTime,
            reason: 'NodeStatusUnknown',
            message: 'Kubelet stopped posting node status.',
          },
        ];
  });
}

interface Health {
  readonly ready: string | undefined;
  readonly eviction: Eviction;
  readonly now: string;
}

/** The taints for the condition Ready, if they differ: new Pods are repelled at once, running ones are evicted when that is allowed. */
function tainted(taints: readonly Taint[], { ready, eviction, now }: Health): readonly Taint[] | undefined {
  const key = ready === 'Unknown' ? unreachableTaint : ready === 'False' ? notReadyTaint : undefined;
  const evicts = eviction === 'allow' || (eviction === 'wait' && taints.some(isEvicting));
  const wanted: readonly Taint['effect'][] =
    key === undefined ? [] : evicts ? ['NoSchedule', 'NoExecute'] : ['NoSchedule'];
  const own = wanted.map(
    (effect): Taint =>
      taints.find((taint) => taint.key === key && taint.effect === effect) ?? {
        key: key ?? '',
        effect,
        timeAdded: now,
      },
  );
  const present = taints.filter(isOwn);
  const isSame = present.length === own.length && own.every((taint) => present.includes(taint));
  return isSame ? undefined : [...taints.filter((taint) => !isOwn(taint)), ...own];
}

const isOwn = ({ key, effect }: Taint): boolean =>
  (key === notReadyTaint || key === unreachableTaint) && effect !== 'PreferNoSchedule';

const isEvicting = (taint: Taint): boolean => isOwn(taint) && taint.effect === 'NoExecute';
