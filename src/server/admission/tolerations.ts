// The admission plugin DefaultTolerationSeconds, and the merge of tolerations.
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Toleration } from '../../api/kinds/core/pod/tolerations.ts';

/** The taints that a Pod tolerates for five minutes, unless it has a toleration for them. */
const tolerated = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];

/** Adds the default tolerations to a Pod. */
export function withDefaultTolerations(pod: Pod): Pod {
  const { tolerations = [] } = pod.spec;
  const added = tolerated
    .filter((taint) => !tolerations.some((each) => covers(each, taint)))
    .map((key): Toleration => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }));
  return added.length === 0 ? pod : { ...pod, spec: { ...pod.spec, tolerations: [...tolerations, ...added] } };
}

const covers = ({ key = '', effect }: Toleration, taint: string): boolean =>
  (key === '' || key === taint) && (effect === undefined || effect === 'NoExecute');

/** The tolerations without those that another one includes. Of equal ones the first is kept. */
export function mergeTolerations(all: readonly Toleration[]): readonly Toleration[] {
  const merged: Toleration[] = [];
  for (const [index, each] of all.entries()) {
    const later = all.slice(index + 1).some((other) => !isEqual(other, each) && includes(other, each));
    if (!later && !merged.some((other) => includes(other, each))) merged.push(each);
  }
  return merged;
}

const isEqual = (a: Toleration, b: Toleration): boolean =>
  a.key === b.key &&
  a.operator === b.operator &&
  a.value === b.value &&
  a.effect === b.effect &&
  a.tolerationSeconds === b.tolerationSeconds;

/** Whether `wide` tolerates every taint that `narrow` tolerates, for as long. */
function includes(wide: Toleration, narrow: Toleration): boolean {
  if (isEqual(wide, narrow)) return true;
  if (narrow.key !== wide.key && (wide.key !== undefined || wide.operator !== 'Exists')) return false;
  if (narrow.effect !== wide.effect && wide.effect !== undefined) return false;
  if (wide.effect === 'NoExecute' && wide.tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > wide.tolerationSeconds) return false;
  }
  return wide.operator === 'Exists' || (narrow.operator === 'Equal' && narrow.value === wide.value);
}
