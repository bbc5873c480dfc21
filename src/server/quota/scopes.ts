// Which Pods a quota with scopes counts.
import { qosClass } from '../../api/kinds/core/pod/quality.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { ResourceQuota } from '../../api/kinds/core/resourcequota/schema.ts';

/** One condition on objects that a quota counts. */
export interface Scope {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** All conditions of a quota; objects must meet each. */
export const scopesOf = ({ scopes = [], scopeSelector }: ResourceQuota['spec']): readonly Scope[] => [
  ...scopes.map((scopeName) => ({ scopeName, operator: 'Exists' })),
  ...(scopeSelector?.matchExpressions ?? []),
];

/** Whether a Pod meets a condition. */
export function isPodInScope({ spec }: Pod, { scopeName, operator, values = [] }: Scope): boolean {
  switch (scopeName) {
    case 'Terminating':
      return (spec.activeDeadlineSeconds ?? -1) >= 0;
    case 'NotTerminating':
      return (spec.activeDeadlineSeconds ?? -1) < 0;
    case 'BestEffort':
      return qosClass(spec) === 'BestEffort';
    case 'NotBestEffort':
      return qosClass(spec) !== 'BestEffort';
    case 'PriorityClass':
      return meets(spec.priorityClassName || undefined, operator, values);
    case 'CrossNamespacePodAffinity':
      return namesNamespaces(spec);
    default:
      return false;
  }
}

function meets(value: string | undefined, operator: string, values: readonly string[]): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}

function namesNamespaces({ affinity }: Pod['spec']): boolean {
  const terms = [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap((each) => [
    ...(each?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(each?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ]);
  return terms.some(
    ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined,
  );
}
