import type { MemberPolicy } from '../guard/policy.ts';
import type { LossPolicy } from '../../api/kinds/multicluster/labels.ts';
import type { Usage } from '../../client/limits.ts';
import type { Vips } from './vips.ts';

/** What is said of a member before anything was read from it. */
export interface MemberOptions {
  readonly id: string;
  /** What it is trusted with; default: everything sensible. */
  readonly policy?: MemberPolicy | undefined;
  /** Where its supercluster IPs come from; undefined: from Services derived from the imports, for a stock proxy. */
  readonly vips?: Vips | undefined;
  readonly region?: string | undefined;
  /** What becomes of its endpoints elsewhere when it is lost, unless an export says otherwise; default Remove. */
  readonly onLoss?: LossPolicy | undefined;
  /** It takes names of Services that begin with a digit; default true. */
  readonly acceptsRelaxedNames?: boolean | undefined;
  /** Its server keeps `srvServiceName` in slices; default false, as Kubernetes drops it. */
  readonly keepsSrvNames?: boolean | undefined;
  /** What it may have of the kinds that are read; one that has more is not read. Default: `defaultMemberLimit`. */
  readonly limit?: Usage | undefined;
  /** It is about to leave: it exports nothing any more, and what was imported into it goes. */
  readonly isLeaving?: boolean | undefined;
  /** Somebody else writes to it, such as an agent of its own: it is read, and what it holds is judged. */
  readonly isReadOnly?: boolean | undefined;
}

/** More than the largest clusters have of Services, EndpointSlices, namespaces, exports and imports. */
export const defaultMemberLimit: Usage = { objects: 500_000, bytes: 256 << 20 };

/** How often a member is asked whether it is there, and for how long no answer is no loss. */
export interface PulseTimes {
  /** Between two questions. */
  readonly renewMs: number;
  /** A member that did not answer for this long is lost: its endpoints are no longer written. */
  readonly durationMs: number;
}

/** How long the lease of a source lasts: longer than it takes to elect another controller, with all retries. */
export const defaultSourceLeaseMs = 40_000;

/** A lease is renewed this often while it lasts, so that many renewals may fail and there is time left to elect another. */
const renewalsPerLease = 8;

/** The times that follow from how long the lease of a source lasts. */
export const pulseOf = (durationMs: number): PulseTimes => ({ renewMs: durationMs / renewalsPerLease, durationMs });
