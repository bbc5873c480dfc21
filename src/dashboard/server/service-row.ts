// The rows of Services and imports, from the objects of one cluster.
import { protocolOf, isHeadless } from '../../api/kinds/core/service/facts.ts';
import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import { listOf, publicationAnnotationOf } from '../../api/kinds/core/service/public-name.ts';
import { isReady, isTerminating } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { derivedFromAnnotation, sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { parsePublication, publicationAnnotation } from '../../api/kinds/multicluster/publication.ts';
import type { ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { SuperclusterExport } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { EndpointCounts, EventRow, Finding, ImportRow, PortRow, ServiceRow } from '../view/rows.ts';
import { importId, serviceId } from '../view/ids.ts';

/** The objects of one Service; undefined where the viewer may not read the kind. */
export interface ServiceObjects {
  readonly cluster: string;
  readonly service: Service;
  readonly slices: readonly EndpointSlice[] | undefined;
  readonly exports: readonly (SuperclusterExport | ServiceExport)[] | undefined;
  /** Warnings about the Service. */
  readonly warnings: readonly EventRow[] | undefined;
}

/** The row of a Service. */
export function serviceRow({ cluster, service, slices, exports = [], warnings = [] }: ServiceObjects): ServiceRow {
  const { metadata, spec, status } = service;
  const { namespace = '', name = '', labels = {}, annotations = {} } = metadata;
  const type = isHeadless(service) && spec.type !== 'ExternalName' ? 'Headless' : (spec.type ?? 'ClusterIP');
  const counts = type === 'ExternalName' || slices === undefined ? undefined : countEndpoints(slices);
  const derivedFrom = annotations[derivedFromAnnotation];
  const exported = exportState(exports);
  const ingress = type === 'LoadBalancer' ? (status.loadBalancer.ingress ?? []) : [];
  const external = [...ingress.flatMap(({ ip, hostname }) => ip ?? hostname ?? []), ...(spec.externalIPs ?? [])];
  return {
    kind: 'service',
    id: serviceId(cluster, `${namespace}/${name}`),
    cluster,
    namespace,
    name,
    type,
    labels,
    addresses: type === 'ExternalName' ? [] : (spec.clusterIPs ?? []).filter((ip) => ip !== 'None'),
    external,
    ...(type === 'ExternalName' ? { externalName: spec.externalName ?? '' } : {}),
    published: listOf(publicationAnnotationOf(annotations, 'hostname')),
    ports: (spec.ports ?? []).map((port) => portRow(port, portErrors(ingress).get(portText(port)))),
    ...(counts === undefined ? {} : { endpoints: counts }),
    ...(exported === undefined ? {} : { exported }),
    ...(derivedFrom === undefined ? {} : { derivedFrom }),
    findings: [
      ...(derivedFrom === undefined && counts !== undefined ? endpointFindings(service, counts, warnings) : []),
      ...balancerFindings(service),
      ...exports.flatMap(exportFindings),
      ...unservedFindings(warnings),
    ]
      .filter(isFirst)
      .toSorted((left, right) => Number(right.level === 'error') - Number(left.level === 'error')), // a card shows the first
  };
}

const portText = (port: Pick<ServicePort, 'port' | 'protocol'>): string => `${port.port}/${protocolOf(port)}`;

function portRow(port: ServicePort, error: string | undefined): PortRow {
  const label = port.srvServiceName ?? port.name ?? '';
  return {
    name: port.name ?? '',
    port: portText(port),
    ...(port.nodePort === undefined || port.nodePort === 0 ? {} : { nodePort: port.nodePort }),
    ...(label === '' ? {} : { srv: `_${label}._${protocolOf(port).toLowerCase()}` }),
    ...(error === undefined ? {} : { error }),
  };
}

/** Port → why the load balancer does not serve it. */
function portErrors(ingress: NonNullable<Service['status']['loadBalancer']['ingress']>): ReadonlyMap<string, string> {
  return new Map(
    ingress.flatMap(({ ports = [] }) =>
      ports.flatMap((port) => (port.error === undefined ? [] : [[portText(port), port.error] as const])),
    ),
  );
}

/** Counts endpoints by state. An address of several slices, such as one per port, counts once. */
function countEndpoints(slices: readonly EndpointSlice[]): EndpointCounts {
  const states = new Map<string, 'ready' | 'notReady' | 'terminating'>();
  for (const { addressType, endpoints } of slices) {
    for (const endpoint of endpoints ?? []) {
      const state = isTerminating(endpoint) ? 'terminating' : isReady(endpoint) ? 'ready' : 'notReady';
      const key = `${addressType} ${endpoint.addresses?.[0] ?? ''}`;
      if (states.get(key) !== 'ready') states.set(key, state);
    }
  }
  const counts = { ready: 0, notReady: 0, terminating: 0 };
  for (const state of states.values()) counts[state]++;
  return counts;
}

function endpointFindings(
  { spec }: Service,
  { ready, notReady, terminating }: EndpointCounts,
  warnings: readonly EventRow[],
): readonly Finding[] {
  if (ready > 0) return [];
  const total = notReady + terminating;
  if (total > 0) {
    return [{ level: 'error', reason: 'NoReadyEndpoints', text: `none of ${total} endpoints is ready` }];
  }
  const labels = Object.entries(spec.selector ?? {}).map(([label, value]) => `${label}=${value}`);
  const why =
    warnings.findLast(({ reason }) => reason === 'FailedToUpdateEndpointSlices')?.text ??
    (labels.length === 0
      ? 'it has no selector, and there is no EndpointSlice for it'
      : `no running Pod has the labels ${labels.join(',')}`);
  return [{ level: 'warning', reason: 'NoEndpoints', text: why }];
}

/** The condition of a load balancer that does not serve all ports. */
const portsError = 'LoadBalancerPortsError';

function balancerFindings({ spec, status }: Service): readonly Finding[] {
  if (spec.type !== 'LoadBalancer') return [];
  const refused = status.conditions?.find(({ type, status: state }) => type === portsError && state === 'True');
  const hasIngress = (status.loadBalancer.ingress ?? []).length > 0;
  if (refused !== undefined) {
    const level = hasIngress ? 'warning' : 'error';
    return [{ level, reason: refused.reason, text: `load balancer: ${refused.message}` }];
  }
  if (hasIngress) return [];
  const text = 'it has no load balancer yet: check that a controller handles its class and has a free address';
  return [{ level: 'warning', reason: 'LoadBalancerPending', text }];
}

/** A condition of either kind of export. */
interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

const conditionsOf = ({ status }: SuperclusterExport | ServiceExport): readonly Condition[] => status?.conditions ?? [];

const isSet = (conditions: readonly Condition[], wanted: string, state: 'True' | 'False'): boolean =>
  conditions.some(({ type, status }) => type === wanted && status === state);

const isInvalid = ({ type, status, reason }: Condition): boolean =>
  (type === 'Valid' || type === 'Initialized') && status === 'False' && reason !== 'Pending';

/** The state of the exports of a Service, at most one in each API group. */
function exportState(exports: readonly (SuperclusterExport | ServiceExport)[]): ServiceRow['exported'] {
  if (exports.length === 0) return undefined;
  const all = exports.map(conditionsOf);
  if (all.some((conditions) => conditions.some(isInvalid))) return 'invalid';
  if (all.some((conditions) => isSet(conditions, 'Conflict', 'True'))) return 'conflict';
  const isAccepted = (conditions: readonly Condition[]): boolean =>
    isSet(conditions, 'Ready', 'True') || isSet(conditions, 'Exported', 'True');
  return all.every(isAccepted) ? 'accepted' : 'pending';
}

function exportFindings(object: SuperclusterExport | ServiceExport): readonly Finding[] {
  const conditions = conditionsOf(object);
  if (conditions.length === 0) {
    const text = 'exported, but no multi-cluster controller has reported about it yet';
    return [{ level: 'warning', reason: 'ExportPending', text }];
  }
  const conflict = conditions.find(({ type, status }) => type === 'Conflict' && status === 'True');
  if (conflict !== undefined) return [{ level: 'error', reason: 'Conflict', text: textOf(conflict) }];
  const invalid = conditions.find(isInvalid);
  if (invalid !== undefined) return [{ level: 'error', reason: invalid.reason ?? 'Invalid', text: textOf(invalid) }];
  const incomplete = conditions.find(
    ({ type, status }) => (type === 'Ready' || type === 'Exported') && status !== 'True',
  );
  if (incomplete === undefined) return [];
  return [{ level: 'warning', reason: `Export${incomplete.reason ?? 'Pending'}`, text: textOf(incomplete) }];
}

const textOf = ({ type, message = '' }: Condition): string => (message === '' ? `condition ${type}` : message);

/** Reasons of Events that change the findings of a Service. */
export const eventReasons: readonly string[] = ['NotServed', 'FailedToUpdateEndpointSlices'];

/** The last report of the proxies that a Service, or a part of it, is not routed. */
function unservedFindings(warnings: readonly EventRow[]): readonly Finding[] {
  const last = warnings.findLast(({ reason }) => reason === 'NotServed');
  return last === undefined ? [] : [{ level: 'warning', reason: 'NotServed', text: `proxy: ${last.text}` }];
}

/** Both kinds of exports report the same conflict. */
const isFirst = ({ reason, text }: Finding, index: number, all: readonly Finding[]): boolean =>
  all.findIndex((other) => other.reason === reason && other.text === text) === index;

function publicNames(imported: ImportedService | ServiceImport | undefined): readonly string[] {
  const publication = parsePublication(imported?.metadata.annotations?.[publicationAnnotation] ?? '');
  return publication === undefined ? [] : [publication.hostname];
}

/** The objects of one import. */
export interface ImportObjects {
  readonly cluster: string;
  /** `namespace/name`. */
  readonly key: string;
  readonly imported: ImportedService | undefined;
  readonly serviceImport: ServiceImport | undefined;
  /** undefined: the viewer may not read endpoints. */
  readonly slices: readonly EndpointSlice[] | undefined;
}

/** The row of an import, whichever kinds of it exist. */
export function importRow({ cluster, key, imported, serviceImport, slices = [] }: ImportObjects): ImportRow {
  const [namespace = '', name = ''] = key.split('/');
  const ips = new Set([
    ...(serviceImport?.spec?.ips ?? []),
    ...(imported?.spec?.ip === undefined ? [] : [imported.spec.ip]),
  ]);
  const clusters = [...(imported?.spec?.clusters ?? []), ...(serviceImport?.status?.clusters ?? [])];
  const bySource = Map.groupBy(slices, ({ metadata }) => metadata.labels?.[sourceClusterLabel] ?? '');
  const sources = [...new Set(clusters.map((source) => source.cluster))].map((source) => ({
    cluster: source,
    ...countEndpoints(bySource.get(source) ?? []),
  }));
  const ports = imported?.spec?.ports ?? serviceImport?.spec?.ports ?? [];
  const isHeadlessImport = serviceImport?.spec?.type === 'Headless' || ips.size === 0;
  const isKnown = slices.length > 0;
  const findings: readonly Finding[] =
    isKnown && sources.every(({ ready }) => ready === 0)
      ? [
          {
            level: 'error',
            reason: 'NoReadyEndpoints',
            text: `no endpoint of ${sources.map((each) => each.cluster).join(', ')} is ready`,
          },
        ]
      : [];
  return {
    kind: 'import',
    id: importId(cluster, key),
    cluster,
    namespace,
    name,
    isHeadless: isHeadlessImport,
    addresses: [...ips],
    published: publicNames(imported ?? serviceImport),
    ports: ports.map((port) => portRow({ ...port, protocol: protocolOf(port) }, undefined)),
    sources,
    findings,
  };
}
