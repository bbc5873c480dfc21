// The result of a merge: one service with one view per API.
import type { ImportedServiceSpec } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { IpFamily, Protocol } from '../../api/kinds/core/service/schema.ts';
import type { ServiceImportSpec } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { MergedPublication } from '../../api/kinds/multicluster/publication.ts';
import type { Denial, ClusterExport, ServiceKey, McsApi } from '../record.ts';
import type { Conflict } from './conflict.ts';

/** Why an export is invalid: the reason of its condition. */
export type InvalidReason = 'NoService' | 'InvalidServiceType' | Denial['reason'];

/** The validation result of one cluster's export. */
export type Verdict =
  | { readonly state: 'valid' }
  | { readonly state: 'invalid'; readonly reason: InvalidReason; readonly message: string }
  /** It has a deletion timestamp and waits for its finalizer. */
  | { readonly state: 'leaving' };

/** One cluster that exports the service. */
export interface Exporter {
  readonly cluster: string;
  readonly record: ClusterExport;
  readonly verdict: Verdict;
}

/** A port of the merged service, and the clusters that have exactly this port. */
export interface MergedPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly appProtocol?: string | undefined;
  readonly srvServiceName?: string | undefined;
  readonly clusters: readonly string[];
}

/** The settings that each cluster keeps for itself, unmerged (MCS-130). */
export type ClusterSettings = NonNullable<ImportedServiceSpec['clusters']>[number];

export type ImportType = NonNullable<ServiceImportSpec['type']>;

/** The service in one API. */
export interface View {
  readonly type: ImportType;
  readonly ports: readonly MergedPort[];
  /** The primary family first. */
  readonly families: readonly IpFamily[];
  /** The clusters whose endpoints it has, in order of precedence. */
  readonly clusters: readonly ClusterSettings[];
  readonly sessionAffinity?: ServiceImportSpec['sessionAffinity'];
  readonly sessionAffinityConfig?: ServiceImportSpec['sessionAffinityConfig'];
  readonly internalTrafficPolicy?: string | undefined;
  readonly trafficDistribution?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** The name of the service outside the clusters, for `fairlead publisher`. */
  readonly publication?: MergedPublication | undefined;
}

/** The merged records of one service. */
export interface Merged extends ServiceKey {
  /** Every cluster that exports it: valid exporters in order of precedence, then the others by id. */
  readonly exporters: readonly Exporter[];
  /** The valid exporters in order of precedence; the next merge takes it as `incumbents`. */
  readonly order: readonly string[];
  /** All conflicts, by field. */
  readonly conflicts: readonly Conflict[];
  /** Clusters that the supercluster view omits because they conflict with clusters of higher precedence. */
  readonly quarantined: readonly string[];
  /** undefined: nothing is imported in that API. */
  readonly views: { readonly [api in McsApi]: View | undefined };
  /** The clusters that it is withdrawn from, where others that import other exports have it; undefined: all or none. */
  readonly withdrawnFrom?: readonly string[] | undefined;
}

/** How the supercluster view treats a conflict; in the clusterset view the oldest always wins. */
export type ConflictPolicy = 'Withdraw' | 'OldestWins' | 'Quarantine';

export interface MergeOptions {
  /** Default: Withdraw (MCS-122, MCS-124). */
  readonly conflictPolicy?: ConflictPolicy;
  /**
   * The order of the previous merge. These clusters keep their precedence whatever the timestamps of their exports:
   * clocks differ between clusters, and a restored backup must not change the winner.
   */
  readonly incumbents?: readonly string[];
}
