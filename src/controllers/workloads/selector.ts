import type { LabelSelector } from '../../api/selectors/label-selector.ts';
import { requirementsOf } from '../../api/selectors/label-selector.ts';
import { matchesLabels } from '../../api/selectors/labels.ts';
import type { ApiObject } from '../../api/metadata.ts';

/** Whether the selector of a workload matches an object. An empty or invalid selector matches nothing. */
export function selectorOf(selector: LabelSelector | undefined): (object: ApiObject) => boolean {
  const requirements = selector === undefined ? undefined : requirementsOf(selector);
  if (requirements === undefined || requirements.length === 0) return () => false;
  return ({ metadata: { labels } }) => matchesLabels(requirements, labels);
}
