// Where clusters disagree about one service.
import type { Shape } from '../record.ts';

/** The words of the Conflict condition. */
export type ConflictReason =
  | 'PortConflict'
  | 'TypeConflict'
  | 'SessionAffinityConflict'
  | 'SessionAffinityConfigConflict'
  | 'LabelsConflict'
  | 'AnnotationsConflict'
  | 'InternalTrafficPolicyConflict'
  | 'TrafficDistributionConflict'
  | 'IPFamilyConflict';

/** What one cluster says about the field, as it would be written in a manifest; undefined: it has no such thing. */
export interface ConflictValue {
  readonly cluster: string;
  readonly value: unknown;
  /** When the cluster exported the service. */
  readonly since: string;
}

/** A field in which clusters disagree. The same facts make the text of the condition (MCS-137). */
export interface Conflict {
  /** As in `spec.ports[http]`. */
  readonly field: string;
  readonly reason: ConflictReason;
  /** What must hold, and does not. */
  readonly rule: string;
  /** Every cluster that counts, by precedence. */
  readonly values: readonly ConflictValue[];
  /** Whose value is used where the oldest wins. */
  readonly winner: string;
  /** Clusters whose value differs from the winner's. */
  readonly losers: readonly string[];
  /** The shapes for which this is a conflict. */
  readonly shapes: readonly Shape[];
  readonly fix: Fix;
}

/** The smallest change that ends a conflict: as few clusters as possible take over what most have. */
export interface Fix {
  readonly clusters: readonly string[];
  readonly value: unknown;
  readonly text: string;
}
