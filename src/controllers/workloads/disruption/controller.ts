import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import type { PodDisruptionBudget } from '../../../api/kinds/policy/poddisruptionbudget/kind.ts';
import { podDisruptionBudgetKind } from '../../../api/kinds/policy/poddisruptionbudget/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { requirementsOf } from '../../../api/selectors/label-selector.ts';
import { matchesLabels } from '../../../api/selectors/labels.ts';
import { systemClock } from '../../../client/clock.ts';
import { logRetry, runController } from '../../../client/controller.ts';
import { onAnyChange, onKeyChange } from '../../../client/handlers.ts';
import type { Key } from '../../../client/key.ts';
import { keyFor, keyOf } from '../../../client/key.ts';
import type { Outcome } from '../../../client/queue.ts';
import { WorkQueue } from '../../../client/queue.ts';
import type { ControllerContext } from '../../context.ts';
import { controllerOf } from '../owner.ts';
import { coalesceMs } from '../pace.ts';
import { planBudget } from './plan.ts';

const component = 'disruption-controller';

/** Keeps the status of PodDisruptionBudgets current until the signal fires. */
export function runDisruption(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { caches, workloads, log, options } = context;
  const clock = options.clock ?? systemClock;
  const queue = new WorkQueue({
    work: (key, stop) => reconcile(context, key, clock.now(), stop),
    coalesceMs,
    onError: logRetry(log, component),
    observer: context.observer('disruption'),
    clock,
  });
  const enqueueFor = (object: ApiObject): void => {
    for (const budget of workloads.budgets.by('namespace', object.metadata.namespace ?? '')) {
      if (selects(budget, object)) queue.add(keyOf(budget));
    }
  };
  /** The budgets of the Pods of a workload whose size may have changed. */
  const enqueueAll = ({ metadata }: ApiObject): void => {
    for (const budget of workloads.budgets.by('namespace', metadata.namespace ?? '')) queue.add(keyOf(budget));
  };
  const onScale = onAnyChange<ApiObject>((object, old) => {
    if (old === undefined || object.metadata.generation !== old.metadata.generation) enqueueAll(object);
  });
  const subscribe = (): readonly (() => void)[] => [
    workloads.budgets.subscribe(onKeyChange((key) => queue.add(key))),
    caches.pods.subscribe({
      added: enqueueFor,
      updated(pod, old) {
        enqueueFor(pod);
        enqueueFor(old);
      },
      deleted: enqueueFor,
    }),
    workloads.deployments.subscribe(onScale),
    workloads.replicaSets.subscribe(onScale),
    workloads.statefulSets.subscribe(onScale),
    workloads.replicationControllers.subscribe(onScale),
  ];
  const { budgets, deployments, replicaSets, statefulSets, replicationControllers } = workloads;
  const all = [caches.pods, budgets, deployments, replicaSets, statefulSets, replicationControllers];
  return runController({ queue, caches: all, subscribe }, signal);
}

/** Whether a budget selects an object; an empty selector selects all. */
function selects({ spec: { selector } }: PodDisruptionBudget, { metadata }: ApiObject): boolean {
  const requirements = selector === undefined ? undefined : requirementsOf(selector);
  return requirements !== undefined && matchesLabels(requirements, metadata.labels);
}

async function reconcile(context: ControllerContext, key: Key, now: number, signal: AbortSignal): Promise<Outcome> {
  const { client, caches, workloads } = context;
  const budget = workloads.budgets.get(key);
  if (budget === undefined) return;
  const pods = caches.pods.by('namespace', budget.metadata.namespace ?? '').filter((pod) => selects(budget, pod));
  const plan = planBudget({ budget, pods, scale: () => scaleOf(context, pods), now });
  if (plan.problem !== undefined) {
    const event = {
      type: 'Warning',
      reason: 'CalculateExpectedPodCountFailed',
      message: `Failed to calculate the number of expected pods: ${plan.problem}`,
    } as const;
    context.recorder(component).record(podDisruptionBudgetKind, budget, event);
  }
  if (plan.status !== undefined) {
    // With the revision, since an eviction may have been counted meanwhile.
    await client.updateStatus(
      podDisruptionBudgetKind,
      { ...budget, status: plan.status },
      { signal, metadataOnly: true },
    );
  }
  return plan.nextMs === undefined ? undefined : { requeueAfterMs: plan.nextMs };
}

/** The sum of the sizes of the controllers of Pods. Pods without a controller do not count. */
function scaleOf({ workloads }: ControllerContext, pods: readonly Pod[]): number | { readonly problem: string } {
  const sizes = new Map<string, number>();
  for (const pod of pods) {
    const owner = controllerOf(pod);
    if (owner === undefined || sizes.has(owner.uid)) continue;
    const key = keyFor({ namespace: pod.metadata.namespace, name: owner.name });
    const found = findOwner(workloads, owner.kind, key);
    if (found === undefined) return { problem: `found no controllers for pod ${JSON.stringify(pod.metadata.name)}` };
    sizes.set(found.uid, found.size);
  }
  return sizes.values().reduce((sum, size) => sum + size, 0);
}

interface Sized {
  readonly uid: string;
  readonly size: number;
}

function findOwner(workloads: ControllerContext['workloads'], kind: string, key: Key): Sized | undefined {
  const sized = (
    owner: (ApiObject & { readonly spec: { readonly replicas?: number } }) | undefined,
  ): Sized | undefined => owner && { uid: owner.metadata.uid ?? '', size: owner.spec.replicas ?? 1 };
  switch (kind) {
    case 'StatefulSet':
      return sized(workloads.statefulSets.get(key));
    case 'ReplicationController':
      return sized(workloads.replicationControllers.get(key));
    case 'ReplicaSet': {
      const set = workloads.replicaSets.get(key);
      const deployment = set && controllerOf(set);
      if (set === undefined || deployment?.kind !== 'Deployment') return sized(set);
      return sized(workloads.deployments.get(keyFor({ namespace: set.metadata.namespace, name: deployment.name })));
    }
    default:
      return undefined;
  }
}
