// What one object claims: record sets, and what of them cannot be published.
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Name } from '../../dnswire/data.ts';
import type { Properties, RecordSet } from './record-set.ts';

/** Why a claim of an object is not published. */
export interface Refusal {
  /** The reason of the Event. */
  readonly reason:
    | 'InvalidHostname'
    | 'InvalidAnnotation'
    | 'HostnameNotInZone'
    | 'HostnameTaken'
    | 'NotExposed'
    /** The object has no target yet, which is no error. */
    | 'Pending'
    | 'ConflictingTargets'
    | 'TooManyRecords'
    | 'NotOwned'
    | 'UpdateFailed';
  readonly message: string;
}

/** A set, and the host name that it belongs to, such as that of an SRV record; undefined: it is at the host name itself. */
export interface ClaimedSet extends RecordSet {
  readonly hostname?: Name;
}

/** The claim of one object. */
export interface Claim {
  /** As in registry records: `service/shop/cart`. */
  readonly resource: string;
  readonly namespace: string;
  /** When the object was created: the oldest keeps a name that several claim. */
  readonly since: string;
  /** Those at a host name precede those that belong to it. */
  readonly sets: readonly ClaimedSet[];
  readonly refusals: readonly Refusal[];
  /** What is published of the object stays as it is: nothing is known of its targets now, or it claims too much. */
  readonly isKept?: true;
  /** Settings for webhook providers. */
  readonly properties: Properties;
}

/** What a claim depends on beside its object. */
export interface Surroundings {
  readonly slices: readonly EndpointSlice[];
  readonly nodes: readonly Node[];
  /** TTL of sets without an annotation. */
  readonly ttl: number;
}
