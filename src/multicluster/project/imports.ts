// Computes the import of a merged service in each API, its status, and the derived Service for stock proxies.
import { srvNamesAnnotation } from '../../api/kinds/core/service/srv-names.ts';
import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import { printPublication, publicationAnnotation } from '../../api/kinds/multicluster/publication.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { derivedFromAnnotation } from '../../api/kinds/multicluster/labels.ts';
import type { MergedPort, View } from '../merge/merged.ts';
import type { ServiceKey } from '../record.ts';
import { textOf } from '../record.ts';
import type { VipState } from '../vip/allocator.ts';
import type { PlannedCondition } from './conditions.ts';
import type { ImportStatus } from './desired.ts';
import { derivedName, derivedServiceAnnotation, managedBy, objectManagedByLabel } from './labels.ts';

const ourLabel = { [objectManagedByLabel]: managedBy };

/** A port of an import, without node port and target port (MCS-92). */
const importedPort = ({ name, protocol, port, appProtocol }: MergedPort) => ({
  ...(name === '' ? {} : { name }),
  protocol,
  ...(appProtocol === undefined ? {} : { appProtocol }),
  port,
});

/** Imports have no field for the SRV names of ports (MCS-161). */
function srvAnnotation(ports: readonly MergedPort[]): Record<string, string> {
  const pairs = ports.flatMap(({ name, srvServiceName }) =>
    name === '' || srvServiceName === undefined ? [] : [`${name}=${srvServiceName}`],
  );
  return pairs.length === 0 ? {} : { [srvNamesAnnotation]: pairs.toSorted().join(',') };
}

/** What imports have no fields for. */
const annotationsOf = ({ ports, publication }: View): Record<string, string> => ({
  ...srvAnnotation(ports),
  ...(publication === undefined ? {} : { [publicationAnnotation]: printPublication(publication) }),
});

const annotated = (annotations: Readonly<Record<string, string>>): { annotations?: Readonly<Record<string, string>> } =>
  Object.keys(annotations).length === 0 ? {} : { annotations };

/**
 * The supercluster import (MCS-105, MCS-106). It is not written before it has its address, because without one it would be headless. Its
 * clusters are in order of precedence, which survives restarts of the controller here.
 */
export function importedServiceFor(key: ServiceKey, view: View, vip: VipState): ImportedService | undefined {
  const isHeadless = view.type === 'Headless';
  if (!isHeadless && vip.state !== 'reserved') return undefined;
  const ips = vip.state === 'reserved' && !isHeadless ? vip.ips : [];
  const families = vip.state === 'reserved' && !isHeadless ? vip.families : view.families;
  const [ip] = ips;
  const [ipFamily] = families;
  return {
    apiVersion: 'multicluster.k8s.io/v1alpha1',
    kind: 'ImportedService',
    metadata: { ...nameOf(key), labels: ourLabel, ...annotated(annotationsOf(view)) },
    spec: {
      ports: view.ports.map(importedPort),
      clusters: view.clusters,
      ...(ipFamily === undefined ? {} : { ipFamily }),
      ...(ip === undefined ? {} : { ip }),
    },
  };
}

const nameOf = ({ namespace, name }: ServiceKey): { readonly namespace: string; readonly name: string } => ({
  namespace,
  name,
});

/** Keeps the fields that a server stores; undefined: all. */
const keptOf = <T extends object>(fields: ReadonlySet<string> | undefined, later: T): Partial<T> =>
  fields === undefined
    ? later
    : // A cast: a subset of the fields of T with unchanged values.
      (Object.fromEntries(Object.entries(later).filter(([name]) => fields.has(name))) as Partial<T>);

export interface ServiceImportInput {
  readonly vip: VipState;
  /** It has a derived Service. */
  readonly isDerived: boolean;
  /** The fields of its spec that the member stores; undefined: all. */
  readonly fields?: ReadonlySet<string> | undefined;
}

/** The import in the clusterset API; its status is a separate write. */
export function serviceImportFor(
  key: ServiceKey,
  view: View,
  { vip, isDerived, fields }: ServiceImportInput,
): ServiceImport {
  const isReserved = vip.state === 'reserved' && view.type !== 'Headless';
  const { sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, trafficDistribution } = view;
  return {
    apiVersion: 'multicluster.x-k8s.io/v1beta1',
    kind: 'ServiceImport',
    metadata: {
      ...nameOf(key),
      labels: { ...view.labels, ...ourLabel },
      ...annotated({
        ...view.annotations,
        ...annotationsOf(view),
        ...(isDerived ? { [derivedServiceAnnotation]: derivedName(key) } : {}),
      }),
    },
    spec: {
      type: view.type,
      ports: view.ports.map(importedPort),
      ...(isReserved ? { ips: vip.ips } : {}),
      ...keptOf(fields, {
        ipFamilies: isReserved ? vip.families : view.families,
        ...(sessionAffinity === undefined ? {} : { sessionAffinity }),
        ...(sessionAffinityConfig === undefined ? {} : { sessionAffinityConfig }),
        ...(internalTrafficPolicy === undefined ? {} : { internalTrafficPolicy }),
        ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
      }),
    },
  };
}

/** The status of a ServiceImport, with the fields that the member stores. `endpointSliceObjects` is constant: every import has slices. */
export const importStatusFor = (
  { clusters }: View,
  vip: VipState,
  fields: ReadonlySet<string> | undefined,
): ImportStatus => ({
  clusters: clusters.map(({ cluster }) => ({ cluster })),
  ...keptOf(fields, { endpointSliceObjects: 'Present' as const, conditions: [readiness(vip)] }),
});

function readiness(vip: VipState): PlannedCondition {
  switch (vip.state) {
    case 'reserved':
      return { type: 'Ready', status: 'True', reason: 'Ready', message: 'the service can be used in this cluster' };
    case 'unneeded':
      return {
        type: 'Ready',
        status: 'True',
        reason: 'Ready',
        message: 'the service is headless and needs no address',
      };
    case 'pending':
      return { type: 'Ready', status: 'False', reason: 'Pending', message: 'the service has no address yet' };
    case 'exhausted':
      return { type: 'Ready', status: 'False', reason: 'Pending', message: vip.message };
    case 'unsupported':
      return { type: 'Ready', status: 'False', reason: 'IPFamilyNotSupported', message: vip.message };
  }
}

/**
 * A Service without selector and with the slices of this controller; the import uses its cluster IP. undefined: the service needs
 * no address, or the cluster has none of its families.
 */
export function derivedServiceFor(
  key: ServiceKey,
  view: View,
  available: readonly IpFamily[] = view.families,
): Service | undefined {
  const families = view.families.filter((family) => available.includes(family));
  if (view.type === 'Headless' || families.length === 0) return undefined;
  const { sessionAffinity, sessionAffinityConfig, internalTrafficPolicy, trafficDistribution } = view;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      namespace: key.namespace,
      name: derivedName(key),
      labels: ourLabel,
      annotations: { [derivedFromAnnotation]: textOf(key) },
    },
    spec: {
      type: 'ClusterIP',
      ports: view.ports.map(importedPort),
      // The second family is requested by the policy only: a single-stack cluster would reject its name.
      ipFamilyPolicy: families.length > 1 ? 'PreferDualStack' : 'SingleStack',
      ipFamilies: families.slice(0, 1),
      ...(sessionAffinity === undefined ? {} : { sessionAffinity }),
      ...(sessionAffinityConfig === undefined ? {} : { sessionAffinityConfig }),
      ...(internalTrafficPolicy === 'Cluster' || internalTrafficPolicy === 'Local' ? { internalTrafficPolicy } : {}),
      ...(trafficDistribution === undefined ? {} : { trafficDistribution }),
    },
    status: { loadBalancer: {} },
  };
}
