// What is known of the clusters of a set: what each exports, and what each is. Everything else follows from these.
import type { IpFamily, Service } from '../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { McsVersion, ServiceExport } from '../api/kinds/multicluster/serviceexport/schema.ts';
import type { SuperclusterExport } from '../api/kinds/multicluster/supercluster/export.ts';
import type { ApiObject } from '../api/metadata.ts';
import { dnsSubdomainErrors, labelValueErrors } from '../api/names.ts';
import type { LossPolicy } from '../api/kinds/multicluster/labels.ts';

/** The two shapes in which exports and imports come: KEP-1645 as it began, and the API as it is now. */
export type Shape = 'seed' | 'current';

/** A service of the set: Services of one namespace and name are one, wherever they are (MCS-15, MCS-16). */
export interface ServiceKey {
  readonly namespace: string;
  readonly name: string;
}

/**
 * What one cluster exports under one name. There is a record as long as there is an export of either shape, be it one
 * that is being deleted; both shapes together are one export.
 */
export interface ExportRecord extends ServiceKey {
  /** The id of the member that this was read from: the connection says it, never the object (MCS-3). */
  readonly cluster: string;
  readonly seedExport?: SuperclusterExport | undefined;
  readonly currentExport?: ServiceExport | undefined;
  /** The Service of the same name; undefined: there is none. */
  readonly service?: Service | undefined;
  /** The slices of that Service, as its own cluster has them. */
  readonly slices: readonly EndpointSlice[];
  /** The region of the cluster, if it is known: slices have no field for it. */
  readonly region?: string | undefined;
  /** What becomes of its endpoints elsewhere when the cluster is lost; default Remove. */
  readonly onLoss?: LossPolicy | undefined;
  /** Why the set does not take this export, whatever it says; see guard/. */
  readonly denial?: Denial | undefined;
}

/** Why a member may not export something. */
export interface Denial {
  readonly reason: 'NamespaceNotAllowed' | 'QuotaExceeded';
  readonly message: string;
}

/** What is known of one member of the set. */
export interface MemberFacts {
  readonly id: string;
  /** The uid of its namespace kube-system, which tells apart clusters that come under one id. */
  readonly uid?: string | undefined;
  /** All of it has been read since the connection was made. What is not synced is unknown, not absent. */
  readonly isSynced: boolean;
  /** It answers now. */
  readonly isConnected: boolean;
  /** Which of its namespaces exist. */
  readonly namespaces: { has(namespace: string): boolean };
  /** The shapes of imports whose kinds it serves. */
  readonly serves: { readonly [shape in Shape]: boolean };
  /** In which version it serves today's kinds; default the newest. */
  readonly currentVersion?: McsVersion | undefined;
  /** Which fields of today's imports its definition has; default all. */
  readonly importFields?: ImportFields | undefined;
  /** Its proxy knows Services alone: an import is reached by the address of a Service derived from it. */
  readonly hasStockProxy: boolean;
  /** The families its Services can have; undefined: not known. */
  readonly serviceFamilies?: readonly IpFamily[] | undefined;
  /** It takes names of Services that begin with a digit (MCS-162). */
  readonly acceptsRelaxedNames: boolean;
  /** Its server keeps `srvServiceName` in slices; one that drops it must not be sent it again and again (MCS-161). */
  readonly keepsSrvNames: boolean;
}

/** The fields of an import that a server keeps; undefined: all. */
export interface ImportFields {
  readonly spec?: ReadonlySet<string> | undefined;
  readonly status?: ReadonlySet<string> | undefined;
}

/** The exports of a record, of whichever shape. */
export const exportsOf = ({ seedExport, currentExport }: ExportRecord): readonly ApiObject[] =>
  [seedExport, currentExport].filter((each) => each !== undefined);

/** Whether an object is being deleted. */
export const isDeleting = ({ metadata }: ApiObject): boolean => metadata.deletionTimestamp !== undefined;

/** Whether the service is still exported: deleting one of two exports does not withdraw it. */
export const isExported = (record: ExportRecord): boolean => exportsOf(record).some((each) => !isDeleting(each));

/** When the service was exported: the age of the older export that still counts. */
export function exportedAt(record: ExportRecord): string {
  const all = exportsOf(record);
  const standing = all.filter((each) => !isDeleting(each));
  const times = (standing.length > 0 ? standing : all).map(({ metadata }) => metadata.creationTimestamp ?? '');
  return times.toSorted()[0] ?? '';
}

/** What keeps a text from being a cluster's id: it is part of names in DNS, and the value of a label (MCS-3). */
export const clusterIdErrors = (id: string): readonly string[] => [
  ...new Set([...dnsSubdomainErrors(id), ...(id === '' ? [] : labelValueErrors(id))]),
];

/** A service of the set as one text. */
export const textOf = ({ namespace, name }: ServiceKey): string => `${namespace}/${name}`;
