import type { Kind } from '../../../api/kind.ts';
import { replicaSetKind } from '../../../api/kinds/apps/replicaset/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { replicationControllerKind } from '../../../api/kinds/core/replicationcontroller/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { timestamp } from '../../../api/timestamp.ts';
import type { Outcome } from '../../../client/queue.ts';
import type { ControllerContext } from '../../context.ts';
import { controllerOf, referenceTo } from '../owner.ts';
import { isActive } from '../pods.ts';
import type { PodSync } from '../pod-owner.ts';
import { runPodOwner } from '../pod-owner.ts';
import type { WriteFailure } from '../pod-writer.ts';
import { selectorOf } from '../selector.ts';
import { podFromTemplate } from '../template.ts';
import type { ReplicaOwner, ReplicaPlan } from './plan.ts';
import { planReplicas, replicaStatus } from './plan.ts';

/** Runs the controller of ReplicaSets until the signal fires. */
export const runReplicaSets = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  runPodOwner(
    context,
    {
      kind: replicaSetKind,
      name: 'replicaset-controller',
      queue: 'replicaset',
      owners: context.workloads.replicaSets,
      selects: ({ spec }) => selectorOf(spec.selector),
      reconcile: (sync) => reconcile(context, replicaSetKind, { sync, countsTerminating: true }),
    },
    signal,
  );

/** Runs the controller of ReplicationControllers until the signal fires. */
export const runReplicationControllers = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  runPodOwner(
    context,
    {
      kind: replicationControllerKind,
      name: 'replicationcontroller-controller',
      queue: 'replicationmanager',
      owners: context.workloads.replicationControllers,
      caches: [context.workloads.replicaSets],
      selects: ({ spec }) => selectorOf({ matchLabels: spec.selector ?? {} }),
      reconcile: (sync) => reconcile(context, replicationControllerKind, { sync, countsTerminating: false }),
    },
    signal,
  );

interface Reconcile<T extends ReplicaOwner> {
  readonly sync: PodSync<T>;
  /** Whether the status has the number of Pods that are terminating. */
  readonly countsTerminating: boolean;
}

async function reconcile<T extends ReplicaOwner>(
  context: ControllerContext,
  kind: Kind<T>,
  { sync, countsTerminating }: Reconcile<T>,
): Promise<Outcome> {
  const { owner, pods, now, signal } = sync;
  const plan = planReplicas({ owner, pods, related: () => relatedPods(context, owner), now });
  const failure = plan.create + plan.remove.length === 0 ? undefined : await write(kind, sync, plan);
  const next = replicaStatus({ owner, pods, now }, { failure, countsTerminating, timestamp: timestamp(now) });
  if (next.status !== undefined) {
    const changed = { ...owner, status: next.status };
    await context.client.updateStatus(kind, changed, { signal, metadataOnly: true });
  }
  if (failure !== undefined) throw failure.error; // the queue retries
  return next.nextMs === undefined ? undefined : { requeueAfterMs: next.nextMs };
}

function write<T extends ReplicaOwner>(
  kind: Kind<T>,
  { owner, writer, signal, expecting }: PodSync<T>,
  { create, remove }: ReplicaPlan,
): Promise<WriteFailure | undefined> {
  return expecting(async () => {
    if (remove.length > 0) return writer.remove(owner, remove, signal);
    const { template } = owner.spec;
    if (template === undefined) return undefined;
    const { namespace = '' } = owner.metadata;
    const pod = podFromTemplate(template, { namespace, owner: referenceTo(kind, owner) });
    const made = Array.from<Pod>({ length: create }).fill(pod);
    return writer.create(owner, made, signal);
  });
}

/** Node → Pods of all ReplicaSets with the same controller, such as those of one Deployment. */
function relatedPods({ caches, workloads }: ControllerContext, owner: ApiObject): ReadonlyMap<string, number> {
  const controller = controllerOf(owner);
  const siblings: readonly ApiObject[] =
    controller === undefined ? [owner] : workloads.replicaSets.by('controller', controller.uid);
  const counts = new Map<string, number>();
  for (const { metadata } of siblings) {
    for (const { spec } of caches.pods.by('controller', metadata.uid ?? '').filter(isActive)) {
      counts.set(spec.nodeName ?? '', (counts.get(spec.nodeName ?? '') ?? 0) + 1);
    }
  }
  return counts;
}
