// What one cluster brings to a service: the facts of its Service and its export that merging looks at.
import { isExternalName, isHeadless } from '../../api/kinds/core/service/facts.ts';
import { familyOf } from '../../api/addresses.ts';
import type { IpFamily, Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { ExportRecord } from '../record.ts';
import { exportedAt, isExported, textOf } from '../record.ts';
import type { ClusterSettings, ImportType, MergedPort, Verdict } from './merged.ts';
import { srvLabels } from './srv-labels.ts';
import { topologyKeysOf } from './topology-keys.ts';

/** A port as one cluster has it. */
export type ComponentPort = Omit<MergedPort, 'clusters'>;

/** One cluster's part of a service. */
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
  /** What the export of the current shape adds; undefined: there is none, and so no opinion. */
  readonly exported:
    | {
        readonly labels: Readonly<Record<string, string>>;
        readonly annotations: Readonly<Record<string, string>>;
      }
    | undefined;
}

/** What became of an export, judged by itself. */
export function verdictOn(record: ExportRecord): Verdict {
  if (!isExported(record)) return { state: 'leaving' };
  const { service, cluster, denial } = record;
  if (denial !== undefined) return { state: 'invalid', ...denial };
  if (service === undefined) {
    const message = `there is no Service ${textOf(record)} in cluster ${cluster}: create it, and the export completes`;
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

/** The part of a cluster whose export is valid. */
export function componentOf(record: ExportRecord, service: Service): Component {
  const { spec } = service;
  const exportSpec = record.currentExport?.spec;
  return {
    cluster: record.cluster,
    since: exportedAt(record),
    type: isHeadless(service) ? 'Headless' : 'ClusterSetIP',
    families: familiesOf(service, record),
    ports: (spec.ports ?? []).map((port) => portOf(port, srvLabels(service))),
    settings: settingsOf(record.cluster, service),
    internalTrafficPolicy: spec.internalTrafficPolicy,
    trafficDistribution: spec.trafficDistribution,
    exported: record.currentExport && {
      labels: exportSpec?.exportedLabels ?? {},
      annotations: exportSpec?.exportedAnnotations ?? {},
    },
  };
}

/** A headless Service of old has no families: those of its slices, then. */
function familiesOf({ spec: { ipFamilies = [], clusterIP = '' } }: Service, record: ExportRecord): readonly IpFamily[] {
  if (ipFamilies.length > 0) return ipFamilies;
  const family = familyOf(clusterIP);
  if (family !== undefined) return [family];
  const seen = new Set(record.slices.map(({ addressType }) => addressType));
  const families = (['IPv4', 'IPv6'] as const).filter((each) => seen.has(each));
  return families.length > 0 ? families : ['IPv4'];
}

/** Node ports and target ports are the source cluster's own business (MCS-92). */
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
