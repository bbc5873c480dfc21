// Which taints of a node a Pod tolerates.
import type { Node } from '../api/kinds/core/node/schema.ts';
import type { PodSpec } from '../api/kinds/core/pod/schema.ts';

export type Taint = NonNullable<Node['spec']['taints']>[number];
export type Toleration = NonNullable<PodSpec['tolerations']>[number];

/** Whether a toleration tolerates a taint. */
export function tolerates({ key = '', operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (key !== '' && value === (taint.value ?? ''));
}
