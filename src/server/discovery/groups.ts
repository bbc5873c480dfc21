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

// The priorities of kube-apiserver: kubectl resolves an ambiguous name to the first group.
const groupPriorities: Readonly<Record<string, number>> = {
  'apiregistration.k8s.io': 20_000,
  '': 18_000,
  apps: 17_800,
  'events.k8s.io': 17_750,
  'authentication.k8s.io': 17_700,
  'authorization.k8s.io': 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  'certificates.k8s.io': 17_300,
  'networking.k8s.io': 17_200,
  policy: 17_100,
  'rbac.authorization.k8s.io': 17_000,
  'storage.k8s.io': 16_800,
  'admissionregistration.k8s.io': 16_700,
  'apiextensions.k8s.io': 16_700,
  'scheduling.k8s.io': 16_600,
  'coordination.k8s.io': 16_500,
  'node.k8s.io': 16_300,
  'discovery.k8s.io': 16_200,
};

/** The priority of a group in discovery, highest first. Custom resources have the least. */
export const groupPriorityOf = (group: string): number => groupPriorities[group] ?? 1000;

/** The groups of `kinds` in the order of discovery; other groups follow in the order of definition. */
export const groupsOf = (kinds: readonly Kind[]): readonly Group[] =>
  getOrCompute(known, kinds, () => newGroups(kinds));

// Each document of a group needs them.
const known = new WeakMap<readonly Kind[], readonly Group[]>();

function newGroups(kinds: readonly Kind[]): readonly Group[] {
  const byGroup = Map.groupBy(kinds, ({ group }) => group);
  return [...byGroup]
    .toSorted(([a], [b]) => groupPriorityOf(b) - groupPriorityOf(a))
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
