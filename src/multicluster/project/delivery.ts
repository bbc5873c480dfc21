// The delivery state of a service in one member, derived from its objects.
import { audienceAnnotation } from '../../api/kinds/multicluster/audience.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { MemberFacts } from '../record.ts';
import type { Actual, Desired, Difference, Refusal } from './desired.ts';
import type { Delivery } from './export-conditions.ts';
import { isOurSlice } from './labels.ts';

/** The delivery state. `difference` is what remains to be written; without writes, the member has the service. */
export function deliveryOf(member: MemberFacts, desired: Desired, difference: Difference): Delivery {
  const { id: cluster } = member;
  if (!member.isConnected || !member.isSynced) return { cluster, state: 'unreachable', hasAddress: false };
  const [refusal] = desired.refusals;
  if (refusal?.reason === 'NamespaceAbsent') return skippedIn(cluster, desired.namespace);
  const hasAddress = hasAddressIn(desired);
  if (refusal !== undefined) return { cluster, state: 'refused', hasAddress, refusal };
  const [foreignObject] = difference.foreignObjects;
  if (foreignObject !== undefined) {
    const taken = { reason: 'NameTaken', message: `cluster ${cluster}: ${foreignObject.message}` } as const;
    return { cluster, state: 'refused', hasAddress, refusal: taken };
  }
  const isDone = difference.writes.length === 0 && desired.slices !== 'later';
  return { cluster, state: isDone ? 'acknowledged' : 'pending', hasAddress };
}

/** Nothing is imported into a cluster without the namespace, which does not keep the export from being complete (MCS-109). */
export const skippedIn = (cluster: string, namespace: string): Delivery => ({
  cluster,
  state: 'acknowledged',
  hasAddress: true,
  refusal: namespaceAbsent(cluster, namespace),
});

/** Nothing is imported into a cluster that the set does not accept, which does not keep the export from being complete. */
export const rejectedIn = (cluster: string, message: string): Delivery => ({
  cluster,
  state: 'acknowledged',
  hasAddress: true,
  refusal: { reason: 'Rejected', message },
});

/** Nothing is imported into a cluster that the audience of the export does not include. */
export const excludedIn = (cluster: string): Delivery => ({
  cluster,
  state: 'acknowledged',
  hasAddress: true,
  refusal: { reason: 'NotInAudience', message: `cluster ${cluster} is not in the audience of the export` },
});

/** An audience is incomplete while it names a cluster that the set does not have. */
export const unknownMemberIn = (cluster: string): Delivery => ({
  cluster,
  state: 'refused',
  hasAddress: true,
  refusal: {
    reason: 'UnknownMember',
    message: `annotation ${audienceAnnotation} names cluster ${cluster}, which is not a member of the set: correct the annotation, or add the cluster with \`fairlead mcs join\``,
  },
});

/** Why a service is not imported into a cluster without its namespace. */
export const namespaceAbsent = (cluster: string, namespace: string): Refusal => ({
  reason: 'NamespaceAbsent',
  message: `cluster ${cluster} has no namespace ${namespace}: create it there to import the service`,
});

function hasAddressIn({ importedService, serviceImport, derivedService, refusals }: Desired): boolean {
  if (refusals.some(({ reason }) => reason === 'NoAddress' || reason === 'FamilyNotSupported')) return false;
  if (serviceImport !== undefined) {
    const { type, ips = [] } = serviceImport.spec ?? {};
    return type === 'Headless' || ips.length > 0;
  }
  // The supercluster import is not written before it has an address; a withdrawn one needs none.
  return importedService !== undefined || derivedService === undefined;
}

/** Whether a member holds nothing that came from a cluster, so that its export may go (MCS-21). */
export function holdsNothingOf(cluster: string, { importedService, serviceImport, slices }: Actual): boolean {
  const listed = [...(importedService?.spec?.clusters ?? []), ...(serviceImport?.status?.clusters ?? [])];
  return (
    !listed.some((each) => each.cluster === cluster) &&
    !slices.some((slice) => isOurSlice(slice) && slice.metadata.labels?.[sourceClusterLabel] === cluster)
  );
}
