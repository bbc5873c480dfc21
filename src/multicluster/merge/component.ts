// One cluster's contribution to a service: the fields of its Service and its export that are merged.
import { isExternalName, isHeadless } from '../../api/kinds/core/service/facts.ts';
import { familyOf } from '../../api/addresses.ts';
import { annotatedLabels } from '../../api/kinds/core/service/srv-names.ts';
import type { IpFamily, Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { ClusterExport } from '../record.ts';
import { exportedAt, exportsOf, isExported, textOf } from '../record.ts';
import { listOf, publicationAnnotationOf } from '../../api/kinds/core/service/public-name.ts';
import type { ClusterSettings, ImportType, MergedPort, Verdict } from './merged.ts';

/** A port of one cluster's Service. */
export type ComponentPort = Omit<MergedPort, 'clusters'>;

/** One cluster's contribution to a service. */
export interface Component {
  readonly cluster: string;
  /** When it was exported. */
  readonly since: string;
  readonly type: ImportType;
  readonly families: readonly IpFamily[];
  readonly ports: readonly ComponentPort[];
  readonly settings: ClusterSettings;
  readonly internalTrafficPolicy: string | undefined;
  readonly trafficDistribution: string | undefined;
  /** From the export of the clusterset API; undefined: there is no such export. */
  readonly exported:
    | {
        readonly labels: Readonly<Record<string, string>>;
        readonly annotations: Readonly<Record<string, string>>;
      }
    | undefined;
  /** The requested public host names in canonical form; undefined: none. */
  readonly hostname: string | undefined;
  /** The record it was computed from. */
  readonly record: ClusterExport;
}

/** Validates one export, independently of other clusters. */
export function verdictOf(record: ClusterExport): Verdict {
  if (!isExported(record)) return { state: 'leaving' };
  const { service, cluster, denial } = record;
  if (denial !== undefined) return { state: 'invalid', ...denial };
  if (service === undefined) {
    const message = `there is no Service ${textOf(record)} in cluster ${cluster}: create it to complete the export`;
    return { state: 'invalid', reason: 'NoService', message };
  }
  if (isExternalName(service)) {
    const message =
      `Service ${textOf(record)} in cluster ${cluster} is of type ExternalName, which cannot be exported: ` +
      'create an ExternalName Service in each cluster instead, or change its type';
    return { state: 'invalid', reason: 'InvalidServiceType', message };
  }
  return { state: 'valid' };
}

/** The contribution of a valid export. */
export function componentOf(record: ClusterExport, service: Service): Component {
  const { spec } = service;
  const exportSpec = record.serviceExport?.spec;
  return {
    cluster: record.cluster,
    since: exportedAt(record),
    type: isHeadless(service) ? 'Headless' : 'ClusterSetIP',
    families: familiesOf(service, record),
    ports: (spec.ports ?? []).map((port) => portOf(port, annotatedLabels(service.metadata.annotations))),
    settings: settingsOf(record.cluster, service),
    internalTrafficPolicy: spec.internalTrafficPolicy,
    trafficDistribution: spec.trafficDistribution,
    exported: record.serviceExport && {
      labels: exportSpec?.exportedLabels ?? {},
      annotations: exportSpec?.exportedAnnotations ?? {},
    },
    hostname: hostnamesText(publicSetting(record, 'hostname')),
    record,
  };
}

/** A headless Service created by an old API server has no ipFamilies: use those of its slices. */
function familiesOf(
  { spec: { ipFamilies = [], clusterIP = '' } }: Service,
  record: ClusterExport,
): readonly IpFamily[] {
  if (ipFamilies.length > 0) return ipFamilies;
  const family = familyOf(clusterIP);
  if (family !== undefined) return [family];
  const seen = new Set(record.slices.map(({ addressType }) => addressType));
  const families = (['IPv4', 'IPv6'] as const).filter((each) => seen.has(each));
  return families.length > 0 ? families : ['IPv4'];
}

/** Without node port and target port, which only matter in the source cluster (MCS-92). */
function portOf(
  { name = '', protocol = 'TCP', port, appProtocol, srvServiceName }: ServicePort,
  labels: ReadonlyMap<string, string>,
): ComponentPort {
  const srvName = srvServiceName ?? labels.get(name);
  return {
    name,
    protocol,
    port,
    ...(appProtocol === undefined ? {} : { appProtocol }),
    ...(srvName === undefined ? {} : { srvServiceName: srvName }),
  };
}

function settingsOf(cluster: string, service: Service): ClusterSettings {
  const { publishNotReadyAddresses, sessionAffinity, sessionAffinityConfig } = service.spec;
  const topologyKeys = topologyKeysOf(service);
  return {
    cluster,
    ...(topologyKeys === undefined ? {} : { topologyKeys }),
    ...(publishNotReadyAddresses === undefined ? {} : { publishNotReadyAddresses }),
    ...(sessionAffinity === undefined ? {} : { sessionAffinity }),
    ...(sessionAffinityConfig === undefined ? {} : { sessionAffinityConfig }),
  };
}

/** The replacement for the field `topologyKeys`, which Kubernetes removed: node labels in order, comma-separated. */
const topologyKeysAnnotation = 'fairlead.dev/topology-keys';

/** trafficDistribution → the equivalent topology keys. */
const keysOfDistribution: Readonly<Record<string, readonly string[]>> = {
  PreferClose: ['topology.kubernetes.io/zone', '*'],
  PreferSameZone: ['topology.kubernetes.io/zone', '*'],
  PreferSameNode: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone', '*'],
};

/** The topology keys of a Service: from the annotation, else from trafficDistribution; undefined: it has none. */
function topologyKeysOf({ metadata: { annotations }, spec }: Service): readonly string[] | undefined {
  const annotation = annotations?.[topologyKeysAnnotation];
  if (annotation === undefined) return keysOfDistribution[spec.trafficDistribution ?? ''];
  const keys = annotation
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
  return keys.length > 0 ? keys : undefined;
}

/** The value of an annotation about the public name: of the exports of a cluster, else of the Service. */
export function publicSetting(record: ClusterExport, name: string): string | undefined {
  for (const { metadata } of [...exportsOf(record), ...(record.service === undefined ? [] : [record.service])]) {
    const value = publicationAnnotationOf(metadata.annotations, name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Host names in canonical form, so that different spaces or another order are no conflict. */
const hostnamesText = (hostname: string | undefined): string | undefined =>
  hostname === undefined ? undefined : listOf(hostname.toLowerCase()).toSorted().join(',');
