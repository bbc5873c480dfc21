// The input of the merge: what each cluster of a set exports, and the facts about each cluster.
import type { IpFamily, Service } from '../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { McsVersion, ServiceExport } from '../api/kinds/multicluster/serviceexport/schema.ts';
import type { SuperclusterExport } from '../api/kinds/multicluster/supercluster/export.ts';
import type { ApiObject } from '../api/metadata.ts';
import type { AddressMode, LossPolicy } from '../api/kinds/multicluster/labels.ts';
import type { Place } from '../api/kinds/multicluster/gateway.ts';
import { lossAnnotation, lossPolicies } from '../api/kinds/multicluster/labels.ts';

/**
 * The two APIs of exports and imports: `multicluster.k8s.io`, the first version of KEP-1645, and `multicluster.x-k8s.io`.
 */
export type McsApi = (typeof mcsApis)[number];

export const mcsApis = ['supercluster', 'clusterset'] as const;

/** A service of the set: Services with the same namespace and name in several clusters are one (MCS-15, MCS-16). */
export interface ServiceKey {
  readonly namespace: string;
  readonly name: string;
}

/** The export of one service by one cluster. Exports of both APIs are one export; one that is being deleted counts. */
export interface ClusterExport extends ServiceKey {
  /** The id of the member whose connection this was read from; never taken from the object (MCS-3). */
  readonly cluster: string;
  readonly superclusterExport?: SuperclusterExport | undefined;
  readonly serviceExport?: ServiceExport | undefined;
  /** The Service of the same name; undefined: there is none. */
  readonly service?: Service | undefined;
  /** The slices of that Service in its own cluster. */
  readonly slices: readonly EndpointSlice[];
  /** What other clusters import in place of `slices`; undefined: they import those. */
  readonly advertised?: Advertised | undefined;
  /** The region of the cluster; slices have no field for it. */
  readonly region?: string | undefined;
  /** What happens to its endpoints in other clusters when the cluster is lost; default Remove. */
  readonly onLoss?: LossPolicy | undefined;
  /** Why the set rejects this export; see guard/. */
  readonly denial?: Denial | undefined;
}

/** How other clusters reach an export whose Pods they cannot route to. */
export interface Advertised {
  readonly mode: AddressMode;
  readonly slices: readonly EndpointSlice[];
  /** In mode gateway: the gateways of the cluster, whose addresses are those in `slices`. */
  readonly gateways?: readonly Place[] | undefined;
  /** Why there are no addresses, with the fix; undefined: there are. */
  readonly problem?: string | undefined;
}

/** What a cluster imports of an export: its own endpoints, or the addresses by which others are reached. */
export const slicesFor = (importer: string, { cluster, slices, advertised }: ClusterExport): readonly EndpointSlice[] =>
  cluster === importer ? slices : (advertised?.slices ?? slices);

/** Why a member may not export something. */
export interface Denial {
  readonly reason: 'NamespaceNotAllowed' | 'QuotaExceeded';
  readonly message: string;
}

/** Facts about one member of the set. */
export interface MemberFacts {
  readonly id: string;
  /** The UID of its namespace kube-system, which identifies the cluster. */
  readonly uid?: string | undefined;
  /** By which audiences select it. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Its caches have synced. Objects of a member that has not synced are unknown, not absent. */
  readonly isSynced: boolean;
  /** It answers probes. */
  readonly isConnected: boolean;
  /** Its namespaces. */
  readonly namespaces: { has(namespace: string): boolean };
  /** The APIs of imports whose kinds it serves. */
  readonly serves: { readonly [api in McsApi]: boolean };
  /** The version of the clusterset API that it serves; default the newest. */
  readonly mcsVersion?: McsVersion | undefined;
  /** The fields that its definition of ServiceImport has; default all. */
  readonly importFields?: ImportFields | undefined;
  /** Its proxy only handles Services: imports use the cluster IP of a derived Service. */
  readonly hasStockProxy: boolean;
  /** The IP families of its Services; undefined: unknown. */
  readonly serviceFamilies?: readonly IpFamily[] | undefined;
  /** Its server accepts names of Services that begin with a digit (MCS-162). */
  readonly acceptsRelaxedNames: boolean;
  /** Its server stores `srvServiceName` in slices. If it does not, the field must not be written again and again (MCS-161). */
  readonly keepsSrvNames: boolean;
}

/** The fields of an import that a server stores; undefined: all. */
export interface ImportFields {
  readonly spec?: ReadonlySet<string> | undefined;
  readonly status?: ReadonlySet<string> | undefined;
}

/** The exports of a record in both APIs. */
export const exportsOf = ({ superclusterExport, serviceExport }: ClusterExport): readonly ApiObject[] =>
  [superclusterExport, serviceExport].filter((each) => each !== undefined);

/** Whether an object is being deleted. */
export const isDeleting = ({ metadata }: ApiObject): boolean => metadata.deletionTimestamp !== undefined;

/** Whether an export is not being deleted: deleting one of two does not withdraw the service. */
export const isExported = (record: ClusterExport): boolean => exportsOf(record).some((each) => !isDeleting(each));

/** The creation time of the oldest export that is not being deleted. */
export function exportedAt(record: ClusterExport): string {
  const all = exportsOf(record);
  const current = all.filter((each) => !isDeleting(each));
  const times = (current.length > 0 ? current : all).map(({ metadata }) => metadata.creationTimestamp ?? '');
  return times.toSorted()[0] ?? '';
}

/** The key of a service as `namespace/name`. */
export const textOf = ({ namespace, name }: ServiceKey): string => `${namespace}/${name}`;

/** The policy in the annotation of the first export or slice that has a valid one. */
export function lossPolicyOf(objects: readonly ApiObject[], unset: LossPolicy = 'Remove'): LossPolicy {
  const requested = objects.map(({ metadata }) => metadata.annotations?.[lossAnnotation]);
  return requested.flatMap((value) => lossPolicies.find((policy) => policy === value) ?? [])[0] ?? unset;
}
