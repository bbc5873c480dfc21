// Desired and actual objects of one service in a member, and the difference between them.
import type { Kind } from '../../api/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { AudienceMember } from '../../api/kinds/multicluster/audience.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { MemberFacts, ServiceKey } from '../record.ts';
import type { MirrorCache } from './mirror.ts';
import type { PlannedCondition } from './conditions.ts';
import type { VipState } from '../vip/allocator.ts';
import type { LocalGateway } from '../vip/gateway-ports.ts';

/** The objects of one service in a member, including objects of other owners with the same name: see `ForeignObject`. */
export interface Actual {
  readonly importedService?: ImportedService | undefined;
  readonly serviceImport?: ServiceImport | undefined;
  /** The Service whose name is `derivedName(key)`. */
  readonly derivedService?: Service | undefined;
  /** Slices with an import name label of this service. */
  readonly slices: readonly EndpointSlice[];
}

/** The input of a projection into a member. */
export interface Target {
  readonly member: MemberFacts;
  readonly actual: Actual;
  /** The allocated address; unneeded with a stock proxy, where the derived Service has the address. */
  readonly vip: VipState;
  /** Members that have not been read since the start: their contributions are kept. */
  readonly unknownClusters?: ReadonlySet<string>;
  /**
   * Members that are lost. They stay in imports (MCS-85). Their slices are neither written nor deleted: the reaper decides
   * about them, and slices that it has deleted must not come back.
   */
  readonly lostClusters?: ReadonlySet<string>;
  /** Members that do not answer and are not lost yet. */
  readonly silentClusters?: ReadonlySet<string>;
  /** Members that drain: other members use their endpoints only if no others are ready. */
  readonly drainingClusters?: ReadonlySet<string>;
  /** The cache of this member's mirrored slices. */
  readonly mirrors?: MirrorCache;
  /** The gateway of this member; undefined: it has none. */
  readonly gateway?: LocalGateway | undefined;
  /** All members of the set, for audiences. */
  readonly members?: readonly AudienceMember[];
}

/** The desired objects of one service in a member; undefined: none of that kind. */
export interface Desired extends ServiceKey {
  readonly importedService: ImportedService | undefined;
  readonly serviceImport: ServiceImport | undefined;
  /** The status of the ServiceImport, without the times of its conditions. */
  readonly importStatus: ImportStatus | undefined;
  readonly derivedService: Service | undefined;
  /** 'later': they need the UID of an import that is not written yet. */
  readonly slices: readonly EndpointSlice[] | 'later';
  /** Sources whose slices are not changed: unknown or lost. */
  readonly untouchedClusters: ReadonlySet<string>;
  /** Why this member does not import the service although it is exported. */
  readonly refusals: readonly Refusal[];
}

/** The desired status of a ServiceImport. */
export interface ImportStatus {
  readonly endpointSliceObjects?: 'Present';
  /** In order of precedence, which survives restarts of the controller here. */
  readonly clusters: readonly { readonly cluster: string }[];
  readonly conditions?: readonly PlannedCondition[];
}

/** Why a member does not import a service. */
export interface Refusal {
  readonly reason:
    | 'NamespaceAbsent'
    | 'NotInAudience'
    /** The audience of an export names a cluster that the set does not have. */
    | 'UnknownMember'
    | 'NameRefused'
    | 'NoAddress'
    | 'FamilyNotSupported'
    | 'KindNotServed'
    /** The cluster has no gateway to reach the exporting one. */
    | 'NoGateway'
    /** The cluster does not take part in the set. */
    | 'Rejected'
    /** An object of another owner has the name: see `ForeignObject`. */
    | 'NameTaken';
  readonly message: string;
}

/** One write to a member. The server rejects updates and deletions if the object has changed. */
export type Write =
  | { readonly verb: 'create' | 'update' | 'updateStatus'; readonly kind: Kind; readonly object: ApiObject }
  | {
      readonly verb: 'delete';
      readonly kind: Kind;
      readonly object: ApiObject;
      readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
    };

/** An object of another owner with a name that this controller needs: it is not changed (MCS-71). */
export interface ForeignObject {
  readonly kind: Kind;
  readonly object: ApiObject;
  readonly message: string;
}

export interface DiffOptions {
  /** The time for conditions that change. */
  readonly now: string;
  /** The cache of this member's mirrored slices. */
  readonly mirrors?: MirrorCache;
}

/** The difference between desired and actual objects. No writes in the steady state. */
export interface Difference {
  /** In order: additions first, removals last. */
  readonly writes: readonly Write[];
  readonly foreignObjects: readonly ForeignObject[];
  /** Further writes depend on the results of these: project again after them. */
  readonly isPartial: boolean;
}
