import { isDeepStrictEqual } from 'node:util';

import type { ControllerRevision } from '../../../api/kinds/apps/controllerrevision/kind.ts';
import { statefulSetKind } from '../../../api/kinds/apps/statefulset/kind.ts';
import type { StatefulSet } from '../../../api/kinds/apps/statefulset/schema.ts';
import { persistentVolumeClaimKind } from '../../../api/kinds/core/persistentvolumeclaim/kind.ts';
import type { Outcome } from '../../../client/queue.ts';
import { hasStatusCode } from '../../../client/transport.ts';
import type { ControllerContext } from '../../context.ts';
import type { PodSync } from '../pod-owner.ts';
import { runPodOwner } from '../pod-owner.ts';
import type { History } from '../revisions.ts';
import {
  hashLabel,
  planHistory,
  removeRevisions,
  revisionLabel,
  surplusRevisions,
  templateOf,
  writeHistory,
} from '../revisions.ts';
import { selectorOf } from '../selector.ts';
import type { Version } from './identity.ts';
import { claimsOf, ordinalOf } from './identity.ts';
import type { StatefulSetPlan } from './plan.ts';
import { planStatefulSet } from './plan.ts';

/** Runs the controller of StatefulSets until the signal fires. */
export const runStatefulSets = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  runPodOwner(
    context,
    {
      kind: statefulSetKind,
      name: 'statefulset-controller',
      queue: 'statefulset',
      owners: context.workloads.statefulSets,
      caches: [context.workloads.revisions],
      selects: (set) => {
        const matches = selectorOf(set.spec.selector);
        return (pod) => matches(pod) && ordinalOf(set, pod) >= 0;
      },
      texts: {
        created: (owner, pod) => `Create Pod ${pod} in StatefulSet ${owner} successful`,
        notCreated: (owner, pod, why) => `Create Pod ${pod} in StatefulSet ${owner} failed error: ${why}`,
        deleted: (owner, pod) => `Delete Pod ${pod} in StatefulSet ${owner} successful`,
        notDeleted: (owner, pod, why) => `Delete Pod ${pod} in StatefulSet ${owner} failed error: ${why}`,
      },
      reconcile: (sync) => reconcile(context, sync),
    },
    signal,
  );

async function reconcile(context: ControllerContext, sync: PodSync<StatefulSet>): Promise<Outcome> {
  const { client, workloads } = context;
  const { owner: set, pods, now, signal } = sync;
  const owned = workloads.revisions.by('controller', set.metadata.uid ?? '');
  const history = planHistory(statefulSetKind, set, owned, (hash) => ({ [hashLabel]: hash }));
  if ((await writeHistory(client, history, signal)) === 'collision') {
    const collisionCount = (set.status.collisionCount ?? 0) + 1;
    await writeStatus(context, set, { ...set.status, collisionCount }, signal);
    return;
  }
  const update = { revision: history.update.metadata.name ?? '', template: set.spec.template };
  const current = versionOf(history, set.status.currentRevision) ?? update;
  const plan = planStatefulSet({ set, pods, current, update, now });
  const failure = await write(context, sync, plan);
  // After a failure, only what exists counts.
  const status = failure === undefined ? plan.status : { ...plan.status, replicas: pods.length };
  await writeStatus(context, set, status, signal);
  const inUse = new Set([...pods.map(({ metadata }) => metadata.labels?.[revisionLabel] ?? ''), current.revision]);
  await removeRevisions(client, surplusRevisions(set, history, inUse), signal);
  if (failure !== undefined) throw failure.error; // the queue retries
  return plan.nextMs === undefined ? undefined : { requeueAfterMs: plan.nextMs };
}

function versionOf({ revisions }: History, name: string | undefined): Version | undefined {
  const found = revisions.find((each: ControllerRevision) => each.metadata.name === name);
  const template = found && templateOf(found);
  return template === undefined || name === undefined ? undefined : { revision: name, template };
}

async function write(context: ControllerContext, sync: PodSync<StatefulSet>, { create, remove }: StatefulSetPlan) {
  if (create.length + remove.length === 0) return undefined;
  const { owner: set, writer, signal } = sync;
  return sync.expecting(async () => {
    for (const pod of create) await createClaims(context, set, ordinalOf(set, pod), signal);
    const failure = create.length === 0 ? undefined : await writer.create(set, create, signal);
    return failure ?? (remove.length === 0 ? undefined : await writer.remove(set, remove, signal));
  });
}

/** Creates the claims of a Pod that do not exist. */
async function createClaims(
  { client }: ControllerContext,
  set: StatefulSet,
  ordinal: number,
  signal: AbortSignal,
): Promise<void> {
  for (const claim of claimsOf(set, ordinal)) {
    try {
      await client.create(persistentVolumeClaimKind, claim, { signal, metadataOnly: true });
    } catch (error) {
      if (!hasStatusCode(error, 409)) throw error;
    }
  }
}

async function writeStatus(
  { client }: ControllerContext,
  set: StatefulSet,
  status: StatefulSet['status'],
  signal: AbortSignal,
): Promise<void> {
  if (isDeepStrictEqual(status, set.status)) return;
  await client.updateStatus(statefulSetKind, { ...set, status }, { signal, metadataOnly: true });
}
