import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';

type NamespaceCondition = NonNullable<Namespace['status']['conditions']>[number];

/** The objects of one resource that remain in a namespace. */
export interface Remaining {
  /** `configmaps.` or `leases.coordination.k8s.io`. */
  readonly resource: string;
  readonly count: number;
  readonly finalizers: readonly string[];
}

/** The content of a terminating namespace after an attempt to delete it. */
export interface Content {
  readonly remaining: readonly Remaining[];
  /** One message for each resource that could not be deleted. */
  readonly failures: readonly string[];
}

/** The conditions of a terminating namespace, with the reasons and messages of Kubernetes. */
export function terminationConditions(
  old: readonly NamespaceCondition[],
  { remaining, failures }: Content,
  now: string,
): readonly NamespaceCondition[] {
  return [
    condition(
      'NamespaceDeletionDiscoveryFailure',
      false,
      'ResourcesDiscovered',
      'All resources successfully discovered',
    ),
    condition(
      'NamespaceDeletionGroupVersionParsingFailure',
      false,
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    failureCondition(failures),
    contentCondition(remaining),
    finalizerCondition(remaining),
  ].map((next) => {
    const before = old.find(({ type }) => type === next.type);
    return { ...next, lastTransitionTime: before?.status === next.status ? before.lastTransitionTime : now };
  });
}

const condition = (type: string, isTrue: boolean, reason: string, message: string): NamespaceCondition => ({
  type,
  status: isTrue ? 'True' : 'False',
  lastTransitionTime: '',
  reason,
  message,
});

function failureCondition(failures: readonly string[]): NamespaceCondition {
  const type = 'NamespaceDeletionContentFailure';
  if (failures.length === 0) {
    return condition(type, false, 'ContentDeleted', 'All content successfully deleted, may be waiting on finalization');
  }
  const messages = failures.toSorted().join(', ');
  const message = `Failed to delete all resource types, ${failures.length} remaining: ${messages}`;
  return condition(type, true, 'ContentDeletionFailed', message);
}

function contentCondition(remaining: readonly Remaining[]): NamespaceCondition {
  if (remaining.length === 0) {
    return condition('NamespaceContentRemaining', false, 'ContentRemoved', 'All content successfully removed');
  }
  const counts = remaining.map(({ resource, count }) => `${resource} has ${count} resource instances`).sort();
  return condition(
    'NamespaceContentRemaining',
    true,
    'SomeResourcesRemain',
    `Some resources are remaining: ${counts.join(', ')}`,
  );
}

function finalizerCondition(remaining: readonly Remaining[]): NamespaceCondition {
  const counts = new Map<string, number>();
  for (const finalizer of remaining.flatMap(({ finalizers }) => finalizers)) {
    counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
  }
  if (counts.size === 0) {
    return condition(
      'NamespaceFinalizersRemaining',
      false,
      'ContentHasNoFinalizers',
      'All content-preserving finalizers finished',
    );
  }
  const texts = [...counts].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`).sort();
  return condition(
    'NamespaceFinalizersRemaining',
    true,
    'SomeFinalizersRemain',
    `Some content in the namespace has finalizers remaining: ${texts.join(', ')}`,
  );
}
