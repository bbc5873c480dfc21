// What a member is to hold of one service, what it holds, and the writes between the two.
import type { Kind } from '../../api/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { MemberFacts, ServiceKey } from '../record.ts';
import type { Memory } from './memory.ts';
import type { Statement } from './statement.ts';
import type { VipState } from '../vip/allocator.ts';

/** What a member holds of one service. Objects of the right name that are not ours are in it too: see `Obstacle`. */
export interface Actual {
  readonly importedService?: ImportedService | undefined;
  readonly serviceImport?: ServiceImport | undefined;
  /** The Service whose name is `derivedName(key)`. */
  readonly derivedService?: Service | undefined;
  /** Slices that carry either name label of this service. */
  readonly slices: readonly EndpointSlice[];
}

/** For whom to project, and what is there. */
export interface Target {
  readonly member: MemberFacts;
  readonly actual: Actual;
  /** What the pool gave; not asked for where the member has a stock proxy, whose derived Service has the address. */
  readonly vip: VipState;
  /** Members that could not be read since we began: what came from them stays (sheet 5.6). */
  readonly unknownClusters?: ReadonlySet<string>;
  /**
   * Members whose connection is not confirmed now. They keep their part in imports (MCS-85); their slices are neither
   * written nor removed, since whether they are alive is the reaper's to judge, and a slice it removed must stay away.
   */
  readonly lostClusters?: ReadonlySet<string>;
  /** Members that do not answer now and are not lost yet. */
  readonly silentClusters?: ReadonlySet<string>;
  /** What was worked out for this member before; see `Memory`. */
  readonly memory?: Memory;
}

/** What a member is to hold of one service; undefined: nothing of that kind. */
export interface Desired extends ServiceKey {
  readonly importedService: ImportedService | undefined;
  readonly serviceImport: ServiceImport | undefined;
  /** The status of the ServiceImport, without the times of its conditions. */
  readonly importStatus: ImportStatus | undefined;
  readonly derivedService: Service | undefined;
  /** 'later': they need the uid of an import, which is still to be written. */
  readonly slices: readonly EndpointSlice[] | 'later';
  /** Sources whose slices are left as they are: unknown or lost. */
  readonly untouchedClusters: ReadonlySet<string>;
  /** Why this member does not have the service although it is exported, each for a person. */
  readonly refusals: readonly Refusal[];
}

/** What the status of a ServiceImport is to say. */
export interface ImportStatus {
  readonly endpointSliceObjects?: 'Present';
  /** By precedence, which is how that order outlives the controller. */
  readonly clusters: readonly { readonly cluster: string }[];
  readonly conditions?: readonly Statement[];
}

/** Something that keeps a service from a member. */
export interface Refusal {
  readonly reason:
    | 'NamespaceAbsent'
    | 'NameRefused'
    | 'NoAddress'
    | 'FamilyNotSupported'
    | 'KindNotServed'
    /** An object of somebody else has the name: see `Obstacle`. */
    | 'NameTaken';
  readonly message: string;
}

/** One write into a member. Updates and deletions are refused by the server when the object has changed since. */
export type Write =
  | { readonly verb: 'create' | 'update' | 'updateStatus'; readonly kind: Kind; readonly object: ApiObject }
  | {
      readonly verb: 'delete';
      readonly kind: Kind;
      readonly object: ApiObject;
      readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
    };

/** An object that has a name we need and is somebody else's: it is left alone (MCS-71, sheet 5.9). */
export interface Obstacle {
  readonly kind: Kind;
  readonly object: ApiObject;
  readonly message: string;
}

export interface DiffOptions {
  /** The time for conditions that change. */
  readonly now: string;
  /** What was worked out for this member before; see `Memory`. */
  readonly memory?: Memory;
}

/** What to do in a member. No writes in the steady state. */
export interface Difference {
  /** In the order in which they are to be made: what is new first, what is gone last. */
  readonly writes: readonly Write[];
  readonly obstacles: readonly Obstacle[];
  /** The writes make something known that more depends on: project again when they are done. */
  readonly isPartial: boolean;
}
