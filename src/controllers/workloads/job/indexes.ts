// Sets of indexes of an indexed Job, and the index of a Pod.
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';

/** Annotation and label of a Pod with its index. */
export const indexAnnotation = 'batch.kubernetes.io/job-completion-index';
/** Annotation of a Pod with the failures of its index before it. */
export const indexFailuresAnnotation = 'batch.kubernetes.io/job-index-failure-count';

/** The indexes in a text such as `0,2-4`. */
export function parseIndexes(text = ''): Set<number> {
  const indexes = new Set<number>();
  for (const part of text.split(',')) {
    const [first = '', last = first] = part.split('-');
    if (!/^\d+$/.test(first) || !/^\d+$/.test(last)) continue;
    for (let index = Number(first); index <= Number(last); index++) indexes.add(index);
  }
  return indexes;
}

/** The text of a set of indexes. Two numbers in sequence are listed, three or more are an interval, as in Kubernetes. */
export function printIndexes(indexes: Iterable<number>): string {
  const sorted = [...indexes].toSorted((left, right) => left - right);
  const parts: string[] = [];
  for (let start = 0; start < sorted.length;) {
    let end = start;
    while (end + 1 < sorted.length && sorted[end + 1] === (sorted[end] ?? 0) + 1) end++;
    const [first = 0, last = 0] = [sorted[start], sorted[end]];
    parts.push(first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`);
    start = end + 1;
  }
  return parts.join(',');
}

/** The index of a Pod; undefined: it has none. */
export function indexOf({ metadata }: Pod): number | undefined {
  const text = metadata.annotations?.[indexAnnotation];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** How often an index had failed before the Pod. */
export function earlierFailures({ metadata }: Pod): number {
  const text = metadata.annotations?.[indexFailuresAnnotation] ?? '0';
  return /^\d+$/.test(text) ? Number(text) : 0;
}
