// What the exports of all clusters come to: one service, as each of the two API shapes shows it.
import type { ImportedServiceSpec } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { IpFamily, Protocol } from '../../api/kinds/core/service/schema.ts';
import type { ServiceImportSpec } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { Denial, ExportRecord, ServiceKey, Shape } from '../record.ts';
import type { Conflict } from './conflict.ts';

/** Why an export is not taken up, in the words of its condition. */
export type InvalidReason = 'NoService' | 'InvalidServiceType' | Denial['reason'];

/** What became of one cluster's export. */
export type Verdict =
  | { readonly state: 'valid' }
  | { readonly state: 'invalid'; readonly reason: InvalidReason; readonly message: string }
  /** Deleted, and there until it has been withdrawn. */
  | { readonly state: 'leaving' };

/** One cluster that exports the service. */
export interface Exporter {
  readonly cluster: string;
  readonly record: ExportRecord;
  readonly verdict: Verdict;
}

/** A port of the merged service, and the clusters that have it just so. */
export interface MergedPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly appProtocol?: string | undefined;
  readonly srvServiceName?: string | undefined;
  readonly clusters: readonly string[];
}

/** What is each cluster's own, unmerged and unaltered (MCS-130). */
export type ClusterSettings = NonNullable<ImportedServiceSpec['clusters']>[number];

export type ImportType = NonNullable<ServiceImportSpec['type']>;

/** The service as one of the shapes shows it. */
export interface View {
  readonly type: ImportType;
  readonly ports: readonly MergedPort[];
  /** The primary one first. */
  readonly families: readonly IpFamily[];
  /** The clusters whose endpoints it has, by precedence. */
  readonly clusters: readonly ClusterSettings[];
  readonly sessionAffinity?: ServiceImportSpec['sessionAffinity'];
  readonly sessionAffinityConfig?: ServiceImportSpec['sessionAffinityConfig'];
  readonly internalTrafficPolicy?: string | undefined;
  readonly trafficDistribution?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Everything that follows from the records of one service. */
export interface Merged extends ServiceKey {
  /** Every cluster that exports it, valid or not: those that count by precedence, then the others by id. */
  readonly exporters: readonly Exporter[];
  /** The clusters that count, by precedence. Given to the next merge it keeps who came first, first (sheet 5.4). */
  readonly order: readonly string[];
  /** All of them, by field. */
  readonly conflicts: readonly Conflict[];
  /** Clusters that the seed view leaves out because they conflict with those before them. */
  readonly quarantined: readonly string[];
  /** What each shape shows; undefined: nothing is imported in that shape. */
  readonly views: { readonly [shape in Shape]: View | undefined };
}

/** What the seed's view does about a conflict; the current one always lets the oldest win. */
export type SeedPolicy = 'Withdraw' | 'OldestWins' | 'Quarantine';

export interface MergeOptions {
  /** Default: Withdraw, as the KEP first had it (MCS-122, MCS-124). */
  readonly seedPolicy?: SeedPolicy;
  /**
   * The order of the last merge. Clusters in it come before all others, in that order, whatever the timestamps of their
   * exports say by now: clocks differ, and a restored backup must not turn a service over.
   */
  readonly incumbents?: readonly string[];
}
