// The lease of a source cluster in an importing one: as long as it is renewed, endpoints from there are good (MCS-80).
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { managedBy, objectManagedByLabel } from '../project/marks.ts';

/** Where the leases are: what renews them needs rights there alone. */
export const leaseNamespace = 'kube-system';

/** Selects the leases of source clusters. */
export const leaseSelector = `${objectManagedByLabel}=${managedBy},${sourceClusterLabel}`;

/** On a lease: the uid of kube-system in its source, by which a cluster that comes under the id of another is known. */
export const clusterUidAnnotation = 'fairlead.dev/cluster-uid';

/** The name of the lease of a source cluster. */
export const leaseName = (source: string): string => `multicluster-source-${source}`;

/** Whether a lease is of the cluster with this uid, as far as it says. */
export const isOfCluster = ({ metadata: { annotations } }: Lease, uid: string | undefined): boolean =>
  (annotations?.[clusterUidAnnotation] ?? uid) === uid;

/** The source cluster of a lease; undefined: it is another lease. */
export const sourceOfLease = ({ metadata: { labels } }: Lease): string | undefined =>
  labels?.[objectManagedByLabel] === managedBy ? labels[sourceClusterLabel] : undefined;

export interface Renewal {
  readonly source: string;
  /** Which cluster that is. */
  readonly uid: string | undefined;
  /** Who has read the source. */
  readonly holder: string;
  readonly durationMs: number;
  /** For people: nobody compares it with a clock (MCS-87). */
  readonly nowMs: number;
}

/** The lease as it is when the source was read just now. */
export function renewed(before: Lease | undefined, renewal: Renewal): Lease {
  const { source, uid, holder, durationMs, nowMs } = renewal;
  const time = new Date(nowMs).toISOString().replace('Z', '000Z');
  const isSameHolder = before?.spec.holderIdentity === holder;
  return {
    metadata: {
      ...before?.metadata,
      name: leaseName(source),
      namespace: leaseNamespace,
      labels: { ...before?.metadata.labels, [objectManagedByLabel]: managedBy, [sourceClusterLabel]: source },
      annotations: { ...before?.metadata.annotations, ...(uid === undefined ? {} : { [clusterUidAnnotation]: uid }) },
    },
    spec: {
      ...before?.spec,
      holderIdentity: holder,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      acquireTime: isSameHolder ? (before.spec.acquireTime ?? time) : time,
      renewTime: time,
    },
  };
}
