import type { MemberPolicy } from '../guard/policy.ts';
import type { AddressMode, LossPolicy } from '../../api/kinds/multicluster/labels.ts';
import type { Usage } from '../../client/limits.ts';
import type { Vips } from './vips.ts';

/** What changes without a new connection: the member is read on. */
export interface LiveOptions {
  /** By which the audiences of exports select it. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Other members use its endpoints only if no others are ready. */
  readonly isDraining?: boolean | undefined;
}

/** The configuration of a member. */
export interface MemberOptions extends LiveOptions {
  readonly id: string;
  /** What it may export; default: no restrictions of its own. */
  readonly policy?: MemberPolicy | undefined;
  /** Allocates its supercluster IPs; undefined: imports use the cluster IPs of derived Services, for a stock proxy. */
  readonly vips?: Vips | undefined;
  /** The addresses by which other clusters reach its exports; default pods. */
  readonly addressMode?: AddressMode | undefined;
  /** Addresses in place of those of load balancers, nodes or gateways. */
  readonly addresses?: readonly string[] | undefined;
  readonly region?: string | undefined;
  /** What happens to its endpoints in other members when it is lost; an export can override it. Default Remove. */
  readonly onLoss?: LossPolicy | undefined;
  /** Its server accepts names of Services that begin with a digit; default true. */
  readonly acceptsRelaxedNames?: boolean | undefined;
  /** Its server stores `srvServiceName` in slices; default false, since Kubernetes drops it. */
  readonly keepsSrvNames?: boolean | undefined;
  /** Limit of its cached objects; a member that exceeds it is not read. Default: `defaultMemberLimit`. */
  readonly limit?: Usage | undefined;
  /** It is leaving the set: its exports do not count, and its imports are removed. */
  readonly isLeaving?: boolean | undefined;
  /** Another controller writes to it, such as an agent of its own: this one only checks what it holds. */
  readonly isReadOnly?: boolean | undefined;
}

/** The options that need no new connection. */
export const liveIn = ({ labels, isDraining = false }: LiveOptions): LiveOptions => ({ labels, isDraining });

/** More Services, EndpointSlices, namespaces, exports and imports than the largest clusters have. */
export const defaultMemberLimit: Usage = { objects: 500_000, bytes: 256 << 20 };

/** When a member is probed, and when it is lost. */
export interface ProbeTimes {
  /** Interval of the probes, and of the renewals of the lease. */
  readonly renewMs: number;
  /** Duration of the lease. A member that did not answer for this long is lost: its endpoints are no longer written. */
  readonly durationMs: number;
}

/** Longer than the election of another leader, retries included. */
export const defaultSourceLeaseMs = 40_000;

/** Several renewals may fail and leave time for an election. */
const renewalsPerLease = 8;

/** The times for a duration of the leases of sources. */
export const probeTimesOf = (durationMs: number): ProbeTimes => ({
  renewMs: durationMs / renewalsPerLease,
  durationMs,
});
