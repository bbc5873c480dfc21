import type { ApiObject } from '../../metadata.ts';
import { lossAnnotation, lossPolicies } from './on-source-loss.ts';

/** Many can write here who should not speak for the cluster (MCS-31). */
const shared: readonly string[] = ['default', 'kube-system'];

/** What the author of an export is told: nothing forbids it, but it is rarely meant. */
export function exportWarnings(object: ApiObject, old: ApiObject | undefined): readonly string[] {
  const { namespace = '' } = object.metadata;
  const isShared = old === undefined && shared.includes(namespace);
  const wish = object.metadata.annotations?.[lossAnnotation];
  const isNewWish = wish !== undefined && wish !== old?.metadata.annotations?.[lossAnnotation];
  return [
    ...(isShared
      ? [`Services of namespace "${namespace}" should not be exported to other clusters; forbid it with RBAC`]
      : []),
    ...(isNewWish && !lossPolicies.some((policy) => policy === wish)
      ? [`annotation ${lossAnnotation}: "${wish}" has no effect: expected ${lossPolicies.join(', ')}`]
      : []),
  ];
}
