// Records of imported services. Both API versions of an import are converted to one model.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { RecordSet, Name } from '../../dnswire/data.ts';
import { addressSets, canonical } from './addresses.ts';
import { addressesByName, endpointSrvSets, namedAddresses } from './endpoints.ts';
import { emptyName } from './apex.ts';
import type { RecordOptions } from './options.ts';
import { serviceName, ttlOf } from './options.ts';
import type { SrvLabels } from '../../api/kinds/core/service/srv-names.ts';
import type { NamedPort } from './srv.ts';
import { srvRecord, srvSets, labelsOfPorts } from './srv.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import { dnsLabelErrors } from '../../api/names.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';

/** A service that other clusters export. */
export interface ImportModel {
  readonly name: string;
  readonly namespace: string;
  /** The zone that publishes it. */
  readonly zone: Name;
  readonly kind: 'vip' | 'headless';
  /** Canonical addresses. */
  readonly ips: readonly string[];
  readonly ports: readonly (NamedPort & { readonly port: number })[];
  /** The SRV labels of its ports. */
  readonly labels: SrvLabels;
  /** Clusters whose endpoints are published whether they are ready or not (MCS-135). */
  readonly publishNotReady: ReadonlySet<string>;
}

/** A slice of an import, and its source cluster; undefined if the cluster id is not valid in a name. */
export interface ImportedSlice {
  readonly slice: EndpointSlice;
  readonly cluster: string | undefined;
}

/** Reads the source cluster of a slice. A cluster id has one label, or two: a name and its registry. */
export function importedSlice(slice: EndpointSlice): ImportedSlice {
  const id = (slice.metadata.labels?.[sourceClusterLabel] ?? '').toLowerCase();
  const parts = id.split('.');
  const isId = parts.length <= 2 && parts.every((part) => dnsLabelErrors(part).length === 0);
  return { slice, cluster: isId ? id : undefined };
}

/** The model of a ServiceImport; undefined if its name is not a DNS label. */
export function modelOfImport({ metadata, spec }: ServiceImport, zone: Name): ImportModel | undefined {
  if (spec === undefined) return undefined;
  const kind = spec.type === 'Headless' ? 'headless' : 'vip';
  return modelOf(metadata, { zone, kind, ips: spec.ips ?? [], ports: spec.ports ?? [], publishNotReady: new Set() });
}

/** The model of an ImportedService, which is headless without an address. */
export function modelOfImportedService({ metadata, spec }: ImportedService, zone: Name): ImportModel | undefined {
  if (spec === undefined) return undefined;
  const { ip = '', ports = [], clusters = [] } = spec;
  const open = clusters.filter(({ publishNotReadyAddresses }) => publishNotReadyAddresses === true);
  const publishNotReady = new Set(open.map(({ cluster }) => cluster.toLowerCase()));
  return modelOf(metadata, {
    zone,
    kind: ip === '' ? 'headless' : 'vip',
    ips: ip === '' ? [] : [ip],
    ports,
    publishNotReady,
  });
}

function modelOf(
  { name = '', namespace = '', annotations }: ObjectMeta,
  rest: Omit<ImportModel, 'name' | 'namespace' | 'labels'>,
): ImportModel | undefined {
  if (dnsLabelErrors(name).length > 0) return undefined;
  const ips = rest.ips.flatMap((ip) => canonical(ip) ?? []);
  return { ...rest, name, namespace, ips, labels: labelsOfPorts(rest.ports, annotations) };
}

/** The SRV labels of an import; undefined if the gate of `srvServiceName` is off. */
const labelsOf = ({ labels }: ImportModel, options: RecordOptions): SrvLabels | undefined =>
  options.srvServiceNames === false ? undefined : labels;

/** The records of an import itself; a headless import has none. */
export function importRecords(
  model: ImportModel,
  slices: readonly EndpointSlice[],
  options: RecordOptions,
): readonly RecordSet[] {
  if (model.kind === 'headless') return [];
  const owner = serviceName(model.name, model.namespace, model.zone);
  // Its address is not allocated yet: the name exists without records.
  if (model.ips.length === 0) return [emptyName(owner)];
  const ttl = ttlOf(options, 'stable');
  const ports = model.ports.map((port) => ({
    port: { ...port, ...srvNameIn(slices, port.name) },
    data: [srvRecord(port.port, owner)],
  }));
  return [...addressSets(owner, ttl, model.ips), ...srvSets(owner, ttl, { ports, labels: labelsOf(model, options) })];
}

/** An import has no field for the SRV name, but the ports of its slices do (MCS-161). */
function srvNameIn(slices: readonly EndpointSlice[], portName = ''): { readonly srvServiceName?: string } {
  for (const { ports } of slices) {
    const srvServiceName = ports?.find(({ name = '' }) => name === portName)?.srvServiceName;
    if (srvServiceName) return { srvServiceName };
  }
  return {};
}

/**
 * The records of a slice of an import. Endpoints of a headless import are named `<hostname>.<cluster>.<service>`;
 * `<cluster>.<service>` itself is reserved and has no records. No PTR records: addresses of other clusters may collide
 * with addresses of this one.
 */
export function importSliceRecords(
  model: ImportModel,
  { slice, cluster }: ImportedSlice,
  options: RecordOptions,
): readonly RecordSet[] {
  if (model.kind === 'vip' || options.noEndpoints === true) return [];
  const owner = serviceName(model.name, model.namespace, model.zone);
  const ttl = ttlOf(options, 'volatile');
  const publishesAll = cluster !== undefined && model.publishNotReady.has(cluster);
  const publishes = (endpoint: Endpoint): boolean => publishesAll || isReady(endpoint);
  const addresses = namedAddresses(slice, cluster === undefined ? owner : `${cluster}.${owner}`, {
    options,
    publishes,
  });
  const all = addressSets(
    owner,
    ttl,
    addresses.map(({ address }) => address),
  );
  // Without a valid cluster id endpoints have no names for SRV records to refer to.
  if (cluster === undefined) return all;
  const srv = endpointSrvSets(owner, ttl, { slice, addresses, labels: labelsOf(model, options) });
  return [...all, ...srv, ...addressesByName(addresses, ttl)];
}
