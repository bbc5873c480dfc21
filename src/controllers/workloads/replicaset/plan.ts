// How many Pods a ReplicaSet or a ReplicationController creates or deletes, and what its status is.
import { isDeepStrictEqual } from 'node:util';

import { messageOf } from '../../../api/error-message.ts';
import type { ReplicaSet } from '../../../api/kinds/apps/replicaset/kind.ts';
import type { ReplicationController } from '../../../api/kinds/core/replicationcontroller/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { matchesLabels } from '../../../api/selectors/labels.ts';
import { conditionOf, withCondition, withoutCondition } from '../conditions.ts';
import { deletionOrder, isActive, isStopping, readinessOf } from '../pods.ts';
import type { WriteFailure } from '../pod-writer.ts';
import { maxPodsPerSync } from '../pod-writer.ts';

/** A kind that keeps a number of equal Pods running. */
export type ReplicaOwner = ReplicaSet | ReplicationController;

/** The Pods of an owner. */
export interface OwnedPods {
  readonly owner: ReplicaOwner;
  /** Its Pods, also those that have finished. */
  readonly pods: readonly Pod[];
  /** Node → Pods of the owner and of others with the same controller, so that the most crowded node loses one first. */
  readonly related: () => ReadonlyMap<string, number>;
  readonly now: number;
}

export interface ReplicaPlan {
  readonly create: number;
  readonly remove: readonly Pod[];
}

/** The Pods to create and to delete. */
export function planReplicas({ owner, pods, related, now }: OwnedPods): ReplicaPlan {
  if (owner.metadata.deletionTimestamp !== undefined) return { create: 0, remove: [] };
  const active = pods.filter(isActive);
  const missing = (owner.spec.replicas ?? 1) - active.length;
  if (missing >= 0) return { create: Math.min(missing, maxPodsPerSync), remove: [] };
  const count = Math.min(-missing, maxPodsPerSync);
  const order = count === active.length ? active : deletionOrder(active, related(), now);
  return { create: 0, remove: order.slice(0, count) };
}

/** The status, and when it changes without an event because a Pod becomes available. */
export interface ReplicaStatus {
  /** undefined: it has not changed. */
  readonly status: ReplicaOwner['status'] | undefined;
  readonly nextMs: number | undefined;
}

/** The status after a sync; `failure` is that of its writes. */
export function replicaStatus(
  { owner, pods, now }: Pick<OwnedPods, 'owner' | 'pods' | 'now'>,
  {
    failure,
    countsTerminating,
    timestamp,
  }: { readonly failure: WriteFailure | undefined; readonly countsTerminating: boolean; readonly timestamp: string },
): ReplicaStatus {
  const active = pods.filter(isActive);
  const { ready, available, nextMs } = readinessOf(active, owner.spec.minReadySeconds ?? 0, now);
  const labels = Object.entries(owner.spec.template?.metadata.labels ?? {});
  const wanted = labels.map(([key, value]) => ({ key, operator: 'in' as const, values: new Set([value]) }));
  const labelled = active.filter(({ metadata }) => matchesLabels(wanted, metadata.labels)).length;
  const { conditions: old } = owner.status;
  const conditions = conditionsWith(old, { failure, timestamp });
  const status: ReplicaSet['status'] = {
    replicas: active.length,
    ...count('fullyLabeledReplicas', labelled),
    ...count('readyReplicas', ready),
    ...count('availableReplicas', available),
    ...(countsTerminating ? { terminatingReplicas: pods.filter(isStopping).length } : {}),
    ...(owner.metadata.generation === undefined ? {} : { observedGeneration: owner.metadata.generation }),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
  return { status: isDeepStrictEqual(status, owner.status) ? undefined : status, nextMs };
}

type Conditions = ReplicaOwner['status']['conditions'];

function conditionsWith(
  old: Conditions,
  { failure, timestamp }: { readonly failure: WriteFailure | undefined; readonly timestamp: string },
): NonNullable<Conditions> {
  const type = 'ReplicaFailure';
  if (failure === undefined) return withoutCondition(old, type);
  if (conditionOf(old, type) !== undefined) return old ?? [];
  const { reason, error } = failure;
  return withCondition(old, { type, status: 'True', reason, message: messageOf(error), lastTransitionTime: timestamp });
}

/** A counter, which JSON omits if it is zero. */
const count = <Name extends string>(name: Name, value: number): { readonly [N in Name]?: number } =>
  value === 0 ? {} : ({ [name]: value } as { readonly [N in Name]: number }); // a computed key has the type string
