import type { ApiObject } from '../../metadata.ts';

/** Many can write here who should not speak for the cluster (MCS-31). */
const shared: readonly string[] = ['default', 'kube-system'];

/** What the author of a new export is told: nothing forbids it, but it is rarely meant. */
export function exportWarnings(
  { metadata: { namespace = '' } }: ApiObject,
  old: ApiObject | undefined,
): readonly string[] {
  if (old !== undefined || !shared.includes(namespace)) return [];
  return [`Services of namespace "${namespace}" should not be exported to other clusters; forbid it with RBAC`];
}
