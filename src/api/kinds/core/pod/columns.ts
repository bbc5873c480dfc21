import { age, ageColumn, column, nameColumn } from '../../../columns.ts';
import type { Column, RowCondition } from '../../../kind.ts';
import type { Pod } from './schema.ts';
import { summarize } from './summary.ts';

/** How `kubectl get pods` shows a Pod. */
export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  column('Ready', 'How many containers are ready, of how many.', (pod) => {
    const { ready, total } = summarize(pod);
    return `${ready}/${total}`;
  }),
  column('Status', 'What the containers are doing, taken together.', (pod) => summarize(pod).status),
  column('Restarts', 'How often containers were restarted, and when last.', (pod, now) => {
    const { restarts, lastRestart } = summarize(pod);
    return restarts === 0 || lastRestart === '' ? `${restarts}` : `${restarts} (${age(lastRestart, now)} ago)`;
  }),
  ageColumn,
  column('IP', 'The first address of the Pod.', ({ status }) => status.podIPs?.[0]?.ip ?? '<none>', { wide: true }),
  column('Node', 'The node the Pod is on.', ({ spec }) => spec.nodeName ?? '<none>', { wide: true }),
  column(
    'Nominated Node',
    'The node that is being cleared for the Pod.',
    ({ status }) => status.nominatedNodeName ?? '<none>',
    { wide: true },
  ),
  column('Readiness Gates', 'How many readiness gates are open, of how many.', openGates, { wide: true }),
];

function openGates({ spec, status }: Pod): string {
  const gates = spec.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const isOpen = (type: string): boolean =>
    status.conditions?.find((condition) => condition.type === type)?.status === 'True';
  return `${gates.filter(({ conditionType }) => isOpen(conditionType)).length}/${gates.length}`;
}

/** Marks the rows of Pods that will not run again. */
export function podRowConditions({ status: { phase } }: Pod): readonly RowCondition[] {
  if (phase !== 'Succeeded' && phase !== 'Failed') return [];
  const message = phase === 'Succeeded' ? 'The pod has completed successfully.' : 'The pod failed.';
  return [{ type: 'Completed', status: 'True', reason: phase, message }];
}
