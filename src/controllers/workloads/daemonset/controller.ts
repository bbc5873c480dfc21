import { isDeepStrictEqual } from 'node:util';

import type { DaemonSet } from '../../../api/kinds/apps/daemonset/kind.ts';
import { daemonSetKind } from '../../../api/kinds/apps/daemonset/kind.ts';
import type { Node } from '../../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import type { Key } from '../../../client/key.ts';
import { keyOf } from '../../../client/key.ts';
import type { Outcome } from '../../../client/queue.ts';
import type { ControllerContext } from '../../context.ts';
import { isReadyNode } from '../../scheduler/readiness.ts';
import type { PodSync } from '../pod-owner.ts';
import { runPodOwner } from '../pod-owner.ts';
import { hashOf, planHistory, removeRevisions, revisionLabel, surplusRevisions, writeHistory } from '../revisions.ts';
import { selectorOf } from '../selector.ts';
import { nodeOf, podFor } from './nodes.ts';
import type { DaemonSetPlan } from './plan.ts';
import { planDaemonSet } from './plan.ts';

const component = 'daemonset-controller';

/** Runs the controller of DaemonSets until the signal fires. */
export function runDaemonSets(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { caches, workloads } = context;
  const failures = new NodeFailures();
  const onNodes = (enqueue: (key: Key) => void): (() => void) => {
    const enqueueAll = (): void => {
      for (const set of workloads.daemonSets.list()) enqueue(keyOf(set));
    };
    return caches.nodes.subscribe({
      added: enqueueAll,
      updated(node, old) {
        if (!isDeepStrictEqual(relevant(node), relevant(old))) enqueueAll();
      },
      deleted: enqueueAll,
    });
  };
  return runPodOwner(
    context,
    {
      kind: daemonSetKind,
      name: component,
      queue: 'daemonset',
      owners: workloads.daemonSets,
      caches: [caches.nodes, workloads.revisions],
      selects: ({ spec }) => selectorOf(spec.selector),
      subscribe: (enqueue) => [onNodes(enqueue)],
      forget: (key) => failures.delete(key),
      reconcile: (sync) => reconcile(context, sync, failures),
    },
    signal,
  );
}

/** The parts of a node that decide whether it runs a Pod. */
const relevant = (node: Node): object => ({
  labels: node.metadata.labels,
  taints: node.spec.taints,
  isReady: isReadyNode(node),
});

async function reconcile(
  context: ControllerContext,
  sync: PodSync<DaemonSet>,
  failures: NodeFailures,
): Promise<Outcome> {
  const { client, caches, workloads } = context;
  const { owner: set, pods, now, signal } = sync;
  const owned = workloads.revisions.by('controller', set.metadata.uid ?? '');
  const history = planHistory(daemonSetKind, set, owned, (hash) => ({ [revisionLabel]: hash }));
  if ((await writeHistory(client, history, signal)) === 'collision') {
    const collisionCount = (set.status.collisionCount ?? 0) + 1;
    return writeStatus(context, set, { ...set.status, collisionCount }, signal);
  }
  const hash = hashOf(history.update);
  const plan = planDaemonSet({ set, pods, nodes: caches.nodes.list(), hash, now });
  const { remove, waitMs } = failures.limit(keyOf(set), plan, now);
  reportFinished(
    context,
    set,
    remove.filter((pod) => plan.finished.includes(pod)),
  );
  const { create } = plan;
  const failure =
    create.length + remove.length === 0
      ? undefined
      : await sync.expecting(async () => {
          const made = create.map((node) => podFor(set, node, hash));
          const first = made.length === 0 ? undefined : await sync.writer.create(set, made, signal);
          return (remove.length === 0 ? undefined : await sync.writer.remove(set, remove, signal)) ?? first;
        });
  await writeStatus(context, set, plan.status, signal);
  const inUse = new Set(pods.map(({ metadata }) => `${set.metadata.name}-${metadata.labels?.[revisionLabel] ?? ''}`));
  await removeRevisions(client, surplusRevisions(set, history, inUse), signal);
  if (failure !== undefined) throw failure.error; // the queue retries
  const nextMs = Math.min(plan.nextMs ?? Infinity, waitMs);
  return nextMs === Infinity ? undefined : { requeueAfterMs: nextMs };
}

function reportFinished(context: ControllerContext, set: DaemonSet, pods: readonly Pod[]): void {
  for (const pod of pods) {
    const { namespace, name } = pod.metadata;
    const hasFailed = pod.status.phase === 'Failed';
    context.recorder(component).record(daemonSetKind, set, {
      type: hasFailed ? 'Warning' : 'Normal',
      reason: hasFailed ? 'FailedDaemonPod' : 'SucceededDaemonPod',
      message: `Found ${hasFailed ? 'failed' : 'succeeded'} daemon pod ${namespace}/${name} on node ${nodeOf(pod)}, will try to ${hasFailed ? 'kill' : 'delete'} it`,
    });
  }
}

async function writeStatus(
  { client }: ControllerContext,
  set: DaemonSet,
  status: DaemonSet['status'],
  signal: AbortSignal,
): Promise<void> {
  if (isDeepStrictEqual(status, set.status)) return;
  await client.updateStatus(daemonSetKind, { ...set, status }, { signal, metadataOnly: true });
}

const backoff = { firstMs: 1000, mostMs: 900_000 };

/** Delays the replacement of Pods that fail again and again on a node. */
class NodeFailures {
  /** DaemonSet → node → when a failed Pod was last replaced, and the delay of the next. */
  readonly #failures = new Map<Key, Map<string, { readonly at: number; readonly delayMs: number }>>();

  delete(key: Key): void {
    this.#failures.delete(key);
  }

  /** The Pods to delete now, and how long others wait. */
  limit(
    key: Key,
    { remove, finished }: DaemonSetPlan,
    now: number,
  ): { readonly remove: readonly Pod[]; readonly waitMs: number } {
    let waitMs = Infinity;
    const failed = new Set(finished.filter(({ status }) => status.phase === 'Failed'));
    const allowed = remove.filter((pod) => {
      if (!failed.has(pod)) return true;
      const byNode = this.#failures.get(key) ?? new Map<string, { at: number; delayMs: number }>();
      this.#failures.set(key, byNode);
      const last = byNode.get(nodeOf(pod));
      // A node without failures for twice the longest delay starts again.
      const isRecent = last !== undefined && now - last.at < 2 * backoff.mostMs;
      const leftMs = isRecent ? last.at + last.delayMs - now : 0;
      if (leftMs > 0) {
        waitMs = Math.min(waitMs, leftMs);
        return false;
      }
      byNode.set(nodeOf(pod), {
        at: now,
        delayMs: isRecent ? Math.min(last.delayMs * 2, backoff.mostMs) : backoff.firstMs,
      });
      return true;
    });
    return { remove: allowed, waitMs };
  }
}
