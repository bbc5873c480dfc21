// The ReplicaSets of a Deployment: which is the new one, their revisions and sizes.
import { isDeepStrictEqual } from 'node:util';

import { amountOf } from '../../../api/kinds/apps/workload.ts';
import type { Deployment } from '../../../api/kinds/apps/deployment/schema.ts';
import type { ReplicaSet } from '../../../api/kinds/apps/replicaset/kind.ts';
import { deploymentKind } from '../../../api/kinds/apps/deployment/kind.ts';
import type { PodTemplateSpec } from '../../../api/kinds/core/pod/schema.ts';
import { compareText } from '../../../api/order.ts';
import { referenceTo } from '../owner.ts';
import { templateHash } from '../template.ts';

const hashLabel = 'pod-template-hash';
export const revisionAnnotation = 'deployment.kubernetes.io/revision';
const historyAnnotation = 'deployment.kubernetes.io/revision-history';
const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas';
const maxAnnotation = 'deployment.kubernetes.io/max-replicas';
const maxHistoryLength = 2000;

/** Annotations that a ReplicaSet does not have from its Deployment. */
const ownAnnotations: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'deprecated.deployment.rollback.to',
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxAnnotation,
]);

/** The ReplicaSets of a Deployment, oldest first. */
export interface Sets {
  /** The one with the template of the Deployment; undefined: it does not exist yet. */
  readonly current: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
}

/** Finds the ReplicaSet with the current template: the oldest, if there are several. */
export function setsOf({ spec }: Deployment, all: readonly ReplicaSet[]): Sets {
  const sorted = all.toSorted(byCreation);
  const current = sorted.find((set) => hasTemplate(set, spec.template));
  return { current, old: sorted.filter((set) => set !== current) };
}

/** Whether the templates are equal apart from the hash. */
export const hasTemplate = (set: ReplicaSet, template: PodTemplateSpec): boolean =>
  isDeepStrictEqual(withoutHash(set.spec.template), withoutHash(template));

function withoutHash({ metadata, spec }: PodTemplateSpec): object {
  const { labels = {}, annotations = {}, ...rest } = metadata;
  const { [hashLabel]: _, ...others } = labels;
  return { metadata: { ...rest, labels: others, annotations }, spec };
}

export const byCreation = (left: ReplicaSet, right: ReplicaSet): number =>
  compareText(left.metadata.creationTimestamp, right.metadata.creationTimestamp) ||
  compareText(left.metadata.name, right.metadata.name);

/** Largest first; sets of one size are ordered by age. */
export const bySize =
  (direction: 'newest first' | 'oldest first') =>
  (left: ReplicaSet, right: ReplicaSet): number =>
    sizeOf(right) - sizeOf(left) || (direction === 'newest first' ? byCreation(right, left) : byCreation(left, right));

/** The desired number of Pods of a set. */
export const sizeOf = ({ spec }: ReplicaSet): number => spec.replicas ?? 1;

/** The sum of a number over sets. */
export const total = (sets: readonly ReplicaSet[], of: (set: ReplicaSet) => number): number =>
  sets.reduce((sum, set) => sum + of(set), 0);

export const availableIn = ({ status }: ReplicaSet): number => status.availableReplicas ?? 0;

export const desiredReplicas = ({ spec }: Deployment): number => spec.replicas ?? 1;

/** How many Pods there may be more, and how many fewer available, than desired. */
export function limitsOf({ spec }: Deployment): { readonly maxSurge: number; readonly maxUnavailable: number } {
  if (spec.strategy.type !== 'RollingUpdate') return { maxSurge: 0, maxUnavailable: 0 };
  const { maxSurge = 0, maxUnavailable = 0 } = spec.strategy.rollingUpdate ?? {};
  const replicas = spec.replicas ?? 1;
  const share = (amount: number | string, round: (value: number) => number): number =>
    typeof amount === 'number' ? amount : round((amountOf(amount) * replicas) / 100);
  const [surge, unavailable] = [share(maxSurge, Math.ceil), share(maxUnavailable, Math.floor)];
  // Without either, a rollout could not begin.
  return { maxSurge: surge, maxUnavailable: Math.min(surge === 0 && unavailable === 0 ? 1 : unavailable, replicas) };
}

/** The revision of a Deployment or ReplicaSet, an integer of 64 bits; 0 if it has none. */
export function revisionOf({ metadata }: Pick<ReplicaSet, 'metadata'>): bigint {
  const text = metadata.annotations?.[revisionAnnotation] ?? '';
  const revision = /^[+-]?\d{1,19}$/.test(text) ? BigInt(text.replace(/^\+/, '')) : 0n;
  return BigInt.asIntN(64, revision) === revision ? revision : 0n;
}

/** The largest revision of some ReplicaSets; 0 if they have none. */
export const maxRevision = (sets: readonly ReplicaSet[]): bigint =>
  sets.map(revisionOf).reduce((max, revision) => (revision > max ? revision : max), 0n);

/** The number of Pods that the annotation of the last scaling names; undefined: it has none. */
export const desiredAtScaling = (set: ReplicaSet): number | undefined => numberIn(set, desiredAnnotation);
export const maxAtScaling = (set: ReplicaSet): number | undefined => numberIn(set, maxAnnotation);

function numberIn({ metadata }: ReplicaSet, annotation: string): number | undefined {
  const text = metadata.annotations?.[annotation];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** The set with another size, and the annotations that record it. */
export function resized(deployment: Deployment, set: ReplicaSet, replicas: number): ReplicaSet {
  const annotations = { ...set.metadata.annotations, ...sizeAnnotations(deployment) };
  return { ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, replicas } };
}

/** Whether the annotations name the current size of the Deployment. */
export const hasSizeAnnotations = (deployment: Deployment, set: ReplicaSet): boolean =>
  Object.entries(sizeAnnotations(deployment)).every(([key, value]) => set.metadata.annotations?.[key] === value);

const sizeAnnotations = (deployment: Deployment): Readonly<Record<string, string>> => ({
  [desiredAnnotation]: String(desiredReplicas(deployment)),
  [maxAnnotation]: String(desiredReplicas(deployment) + limitsOf(deployment).maxSurge),
});

/** A ReplicaSet with the annotations of the Deployment and a revision. */
export function annotated(deployment: Deployment, set: ReplicaSet, revision: bigint): ReplicaSet {
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !ownAnnotations.has(key));
  const before = revisionOf(set);
  const annotations = {
    ...set.metadata.annotations,
    ...Object.fromEntries(copied),
    ...(before < revision ? { [revisionAnnotation]: String(revision), ...historyOf(set, before) } : {}),
  };
  const isSame = isDeepStrictEqual(annotations, set.metadata.annotations ?? {});
  return isSame ? set : { ...set, metadata: { ...set.metadata, annotations } };
}

/** The earlier revisions of a set that becomes current again. */
function historyOf({ metadata }: ReplicaSet, before: bigint): Readonly<Record<string, string>> {
  if (before === 0n) return {};
  const past = (metadata.annotations?.[historyAnnotation] ?? '').split(',').filter((text) => text !== '');
  const all = [...past, String(before)];
  while (all.length > 1 && all.join(',').length > maxHistoryLength) all.shift();
  return { [historyAnnotation]: all.join(',') };
}

/** The ReplicaSet of the current template. */
export function newSet(deployment: Deployment, replicas: number, revision: bigint): ReplicaSet {
  const { metadata, spec, status } = deployment;
  const { template, selector = {}, minReadySeconds } = spec;
  const hash = templateHash(template, status.collisionCount ?? 0);
  const labels = { ...template.metadata.labels, [hashLabel]: hash };
  const set: ReplicaSet = {
    metadata: {
      namespace: metadata.namespace ?? '',
      name: `${metadata.name}-${hash}`,
      labels,
      ownerReferences: [referenceTo(deploymentKind, deployment)],
    },
    spec: {
      replicas,
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
    status: { replicas: 0 },
  };
  return annotated(deployment, { ...set, ...resized(deployment, set, replicas) }, revision);
}
