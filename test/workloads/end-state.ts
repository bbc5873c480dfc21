// The state that controllers leave, without what differs from run to run: names with random parts, times, revisions.
import { controllerRevisionKind } from '../../src/api/kinds/apps/controllerrevision/kind.ts';
import { daemonSetKind } from '../../src/api/kinds/apps/daemonset/kind.ts';
import { deploymentKind } from '../../src/api/kinds/apps/deployment/kind.ts';
import { replicaSetKind } from '../../src/api/kinds/apps/replicaset/kind.ts';
import { statefulSetKind } from '../../src/api/kinds/apps/statefulset/kind.ts';
import { jobKind } from '../../src/api/kinds/batch/job/kind.ts';
import { eventKind } from '../../src/api/kinds/core/event/kind.ts';
import { podKind } from '../../src/api/kinds/core/pod/kind.ts';
import { replicationControllerKind } from '../../src/api/kinds/core/replicationcontroller/kind.ts';
import { podDisruptionBudgetKind } from '../../src/api/kinds/policy/poddisruptionbudget/kind.ts';
import type { Kind } from '../../src/api/kind.ts';
import type { ApiObject } from '../../src/api/metadata.ts';
import { compareText } from '../../src/api/order.ts';
import type { Client } from '../../src/client/client.ts';

const kinds: readonly Kind[] = [
  deploymentKind,
  replicaSetKind,
  replicationControllerKind,
  statefulSetKind,
  daemonSetKind,
  controllerRevisionKind,
  jobKind,
  podDisruptionBudgetKind,
  podKind,
];

/** Events whose number depends on timing. */
const timed = new Set(['FailedScheduling', 'Scheduled']);
const combined = '(combined from similar events)';

/** The objects of a namespace as sorted texts, and the messages of their Events. */
export async function endState(client: Client, namespace: string): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const kind of kinds) {
    const { items } = await client.list(kind, { namespace });
    for (const item of items) lines.push(`${kind.kind} ${JSON.stringify(normalized(steps(kind, item)))}`);
  }
  const { items: events } = await client.list(eventKind, { namespace });
  const messages = events
    .filter(({ reason = '', message = '' }) => !timed.has(reason) && !message.startsWith(combined))
    .map(
      ({ involvedObject, type, reason, message = '' }) =>
        `${involvedObject.kind} ${type} ${reason}: ${plainText(message)}`,
    );
  return [...lines.map(plainText).toSorted(compareText), ...[...new Set(messages)].toSorted(compareText)];
}

/** A rollout takes as many steps as its Pods need to become ready, and each is a generation of its ReplicaSets. */
function steps(kind: Kind, item: ApiObject): ApiObject {
  if (kind !== replicaSetKind) return item;
  const { generation: _steps, ...metadata } = item.metadata;
  const { observedGeneration: _observed, ...status } = Reflect.get(item, 'status') as { observedGeneration?: number };
  const object = { ...item, metadata, status };
  return object;
}

/** Names without their random parts: hashes and generated suffixes have no vowels. */
const plainText = (text: string): string =>
  text
    .replaceAll(/ from \d+ to \d+$/g, ' from ? to ?')
    .replaceAll(/"n[123]"/g, '"a node"')
    // kube-scheduler adds the result of preemption, which we do not have.
    .replaceAll(/ preemption: [^"]*/g, '')
    .replaceAll(
      /\b([a-z]+(?:-\d+)?)((?:-[bcdfghjklmnpqrstvwxz2456789]{5,10})+)\b/g,
      (_, name: string, random: string) => `${name}${'-?'.repeat(random.split('-').length - 1)}`,
    );

const dropped = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'managedFields',
  'lastTransitionTime',
  'lastUpdateTime',
  'lastProbeTime',
  'startTime',
  'completionTime',
  'startedAt',
  'finishedAt',
  'podIP',
  'podIPs',
  'nodeName',
  'collisionCount',
  'kube-api-access',
  'volumes',
  'volumeMounts',
]);
const hashes = new Set([
  'pod-template-hash',
  'controller-revision-hash',
  'controller.kubernetes.io/hash',
  'controller-uid',
  'batch.kubernetes.io/controller-uid',
  'currentRevision',
  'updateRevision',
]);

function normalized(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(normalized);
    const isTyped = items.every((item) => item !== null && typeof item === 'object' && 'type' in item);
    return isTyped ? items.toSorted((left, right) => compareText(JSON.stringify(left), JSON.stringify(right))) : items;
  }
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value)
    .filter(([key, each]) => !dropped.has(key) && !isEmpty(each))
    .map(([key, each]) => [key, hashes.has(key) ? '?' : normalized(each)] as const);
  return Object.fromEntries(entries.toSorted(([left], [right]) => compareText(left, right)));
}

/** Whether a field is as good as absent. */
const isEmpty = (value: unknown): boolean =>
  value !== null && typeof value === 'object' && Object.keys(value).length === 0;
