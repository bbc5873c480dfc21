import { getOrCompute } from '../../api/maps.ts';
import type { Kind } from '../../api/kind.ts';
import { compareText } from '../../api/order.ts';

/** The kinds of one group and version, by name as in Kubernetes: `kubectl get all` prints them in this order. */
export interface GroupVersion {
  readonly version: string;
  /** `v1` or `apps/v1`. */
  readonly groupVersion: string;
  readonly kinds: readonly Kind[];
}

/** A group with its versions, the preferred one first. */
export interface Group {
  readonly name: string;
  readonly versions: readonly GroupVersion[];
}

// The order of Kubernetes: kubectl resolves an ambiguous name to the first group.
const groupOrder = [
  '',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
];

const rankOf = (group: string): number => {
  const index = groupOrder.indexOf(group);
  return index < 0 ? groupOrder.length : index;
};

/** The groups of `kinds` in the order of discovery; other groups follow in the order of definition. */
export const groupsOf = (kinds: readonly Kind[]): readonly Group[] =>
  getOrCompute(known, kinds, () => newGroups(kinds));

// Each document of a group needs them.
const known = new WeakMap<readonly Kind[], readonly Group[]>();

function newGroups(kinds: readonly Kind[]): readonly Group[] {
  const byGroup = Map.groupBy(kinds, ({ group }) => group);
  return [...byGroup]
    .toSorted(([a], [b]) => rankOf(a) - rankOf(b))
    .map(([name, all]) => ({ name, versions: versionsOf(name, all) }));
}

function versionsOf(group: string, kinds: readonly Kind[]): readonly GroupVersion[] {
  return [...Map.groupBy(kinds, ({ version }) => version)]
    .toSorted(([a], [b]) => compareVersions(a, b))
    .map(([version, all]) => ({
      version,
      groupVersion: group === '' ? version : `${group}/${version}`,
      kinds: all.toSorted((a, b) => compareText(a.plural, b.plural)),
    }));
}

const versionPattern = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const stages: Readonly<Record<string, number>> = { alpha: 0, beta: 1 };

const priorityOf = (version: string): readonly [stage: number, major: number, minor: number] => {
  const match = versionPattern.exec(version);
  if (match === null) return [-1, 0, 0];
  return [stages[match[2] ?? ''] ?? 2, Number(match[1]), Number(match[3] ?? 0)];
};

/** Orders versions by preference: stable before beta before alpha, then the higher number first. */
export function compareVersions(a: string, b: string): number {
  const [stageA, majorA, minorA] = priorityOf(a);
  const [stageB, majorB, minorB] = priorityOf(b);
  return stageB - stageA || majorB - majorA || minorB - minorA || compareText(a, b);
}
