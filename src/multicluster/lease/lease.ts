// The Lease that stands for the connection to a source cluster, in a cluster that imports from it (MCS-80).
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { managedBy, objectManagedByLabel } from '../project/labels.ts';

/** The namespace of the leases: the only one in which the controller needs rights to leases. */
export const leaseNamespace = 'kube-system';

/** Selects the leases of source clusters. */
export const leaseSelector = `${objectManagedByLabel}=${managedBy},${sourceClusterLabel}`;

/** On a lease: the uid of kube-system in the source, which detects that another cluster uses its id. */
export const clusterUidAnnotation = 'fairlead.dev/cluster-uid';

/** The name of the lease of a source cluster. */
export const leaseName = (source: string): string => `multicluster-source-${source}`;

/** The uid of kube-system in the source of a lease; undefined: not recorded. */
export const uidOfLease = ({ metadata: { annotations } }: Lease): string | undefined =>
  annotations?.[clusterUidAnnotation];

/** The source cluster of a lease; undefined: it is not the lease of a source. */
export const sourceOfLease = ({ metadata: { labels } }: Lease): string | undefined =>
  labels?.[objectManagedByLabel] === managedBy ? labels[sourceClusterLabel] : undefined;

export interface Renewal {
  readonly source: string;
  /** The uid of kube-system in the source. */
  readonly uid: string | undefined;
  /** The controller that has probed the source. */
  readonly holder: string;
  readonly durationMs: number;
  /** For display: expiry is judged by when a change is observed, not by this time (MCS-87). */
  readonly nowMs: number;
}

/** The lease after a renewal. */
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

/** A source that answers its probes, as one importing cluster uses it. */
export interface LeaseSource {
  readonly id: string;
  readonly uid: string | undefined;
  /** When the last answered probe was sent; undefined: none was answered. */
  readonly confirmedAt: number | undefined;
  /** Whether the cluster imports from it; `unknown`: one of the two has not been read. */
  readonly usage: 'imported' | 'unused' | 'unknown';
}

/** A lease as last written or read, and the probe of its source that it stands for. */
export interface RenewedLease {
  readonly lease: Lease;
  readonly confirmedAt: number;
}

/** The sources whose leases are to be written and those whose leases are to be deleted, in one importing cluster. */
export interface LeasePlan {
  readonly renew: readonly string[];
  readonly remove: readonly string[];
}

/** Plans the leases of one importing cluster. `leases`: source → its lease there. */
export function planLeases(sources: readonly LeaseSource[], leases: ReadonlyMap<string, RenewedLease>): LeasePlan {
  const isDue = ({ id, uid, confirmedAt, usage }: LeaseSource): boolean => {
    const last = leases.get(id);
    if (usage === 'unused' || (usage === 'unknown' && last === undefined)) return false;
    const leaseUid = last && uidOfLease(last.lease);
    // Another cluster that uses the id must not keep the endpoints of the previous one alive.
    if (leaseUid !== undefined && leaseUid !== uid) return false;
    return confirmedAt !== undefined && (last === undefined || last.confirmedAt < confirmedAt);
  };
  return {
    renew: sources.filter(isDue).map(({ id }) => id),
    remove: sources.filter(({ id, usage }) => usage === 'unused' && leases.has(id)).map(({ id }) => id),
  };
}
