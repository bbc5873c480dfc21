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

// Reasons and messages are those of Kubernetes.
const successes: readonly (readonly [type: string, reason: string, message: string])[] = [
  ['NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'],
  ['NamespaceDeletionGroupVersionParsingFailure', 'ParsedGroupVersions', 'All legacy kube types successfully parsed'],
  [
    'NamespaceDeletionContentFailure',
    'ContentDeleted',
    'All content successfully deleted, may be waiting on finalization',
  ],
  ['NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed'],
  ['NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
];

/** The conditions of a terminating namespace. */
export function terminationConditions(
  old: readonly NamespaceCondition[],
  content: Content,
  now: string,
): readonly NamespaceCondition[] {
  const problems = problemsOf(content);
  return successes.map(([type, okReason, okMessage]) => {
    const [reason, message] = problems.get(type) ?? [okReason, okMessage];
    const status = problems.has(type) ? 'True' : 'False';
    const before = old.find((condition) => condition.type === type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    return { type, status, lastTransitionTime, reason, message };
  });
}

/** Type → reason and message of the conditions that are true. */
function problemsOf({ remaining, failures }: Content): ReadonlyMap<string, readonly [reason: string, message: string]> {
  const problems = new Map<string, readonly [string, string]>();
  const add = (type: string, reason: string, prefix: string, parts: readonly string[]): void => {
    if (parts.length > 0) problems.set(type, [reason, `${prefix}: ${parts.toSorted().join(', ')}`]);
  };
  const failed = `Failed to delete all resource types, ${failures.length} remaining`;
  add('NamespaceDeletionContentFailure', 'ContentDeletionFailed', failed, failures);
  const counts = remaining.map(({ resource, count }) => `${resource} has ${count} resource instances`);
  add('NamespaceContentRemaining', 'SomeResourcesRemain', 'Some resources are remaining', counts);
  const byFinalizer = Map.groupBy(
    remaining.flatMap(({ finalizers }) => finalizers),
    (finalizer) => finalizer,
  );
  const finalizers = Array.from(byFinalizer, ([name, { length }]) => `${name} in ${length} resource instances`);
  const held = 'Some content in the namespace has finalizers remaining';
  add('NamespaceFinalizersRemaining', 'SomeFinalizersRemain', held, finalizers);
  return problems;
}
