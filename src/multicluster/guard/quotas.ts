// Export quotas per member.
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { compareText } from '../../api/order.ts';
import type { Denial, ClusterExport } from '../record.ts';
import { exportedAt, isExported, textOf } from '../record.ts';
import type { Dropped, MemberPolicy } from './policy.ts';

const endpointsIn = (slices: readonly EndpointSlice[]): number =>
  slices.reduce((sum, { endpoints }) => sum + (endpoints?.length ?? 0), 0);

/**
 * The services of one member that exceed its quotas: `namespace/name` → why. The oldest exports are counted first, so
 * that new exports never displace existing ones.
 */
export function overQuota(
  records: readonly ClusterExport[],
  { maxExports = Infinity, maxEndpoints = Infinity }: MemberPolicy,
): ReadonlyMap<string, Denial> {
  const byAge = records
    .filter(isExported)
    .map((record) => ({ record, key: textOf(record), since: exportedAt(record) }))
    .toSorted((left, right) => compareText(left.since, right.since) || compareText(left.key, right.key));
  const denials = new Map<string, Denial>();
  let [exports, endpoints] = [0, 0];
  for (const { record, key } of byAge) {
    const more = endpointsIn(record.slices);
    const message =
      exports + 1 > maxExports
        ? `cluster ${record.cluster} may export ${maxExports} services and has older exports: withdraw one, or raise its quota`
        : endpoints + more > maxEndpoints
          ? `cluster ${record.cluster} may export ${maxEndpoints} endpoints in total, and this service has ${more} more: raise its quota`
          : undefined;
    if (message !== undefined) denials.set(key, { reason: 'QuotaExceeded', message });
    else [exports, endpoints] = [exports + 1, endpoints + more];
  }
  return denials;
}

/** The slices, in order of their names, that fit into the endpoint quota of a service. */
export function withinServiceQuota(
  record: ClusterExport,
  max = Infinity,
): { readonly slices: readonly EndpointSlice[]; readonly dropped: readonly Dropped[] } {
  if (endpointsIn(record.slices) <= max) return { slices: record.slices, dropped: [] };
  const { cluster, namespace, name } = record;
  const slices: EndpointSlice[] = [];
  const dropped: Dropped[] = [];
  let count = 0;
  for (const slice of record.slices.toSorted((left, right) => compareText(left.metadata.name, right.metadata.name))) {
    const more = slice.endpoints?.length ?? 0;
    if (count + more <= max) {
      slices.push(slice);
      count += more;
      continue;
    }
    const message = `slice ${slice.metadata.name ?? ''} is left out: a service of cluster ${cluster} may have ${max} endpoints`;
    dropped.push({ cluster, namespace, name, what: 'slice', message });
  }
  return { slices, dropped };
}
