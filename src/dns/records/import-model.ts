// One model for what clusters import from each other, whichever API it is read from.
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import { dnsLabelErrors } from '../../api/names.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Name } from '../../dnswire/data.ts';
import { canonical } from './addresses.ts';
import type { NamedPort, SrvLabels } from './srv.ts';
import { labelsOfPorts } from './srv.ts';

/** A service that other clusters export. */
export interface ImportModel {
  readonly name: string;
  readonly namespace: string;
  /** The zone in which it is found. */
  readonly zone: Name;
  readonly kind: 'vip' | 'headless';
  /** Addresses in canonical form. */
  readonly ips: readonly string[];
  readonly ports: readonly (NamedPort & { readonly port: number })[];
  /** The SRV labels that the import itself gives to its ports. */
  readonly labels: SrvLabels;
  /** The clusters whose endpoints are published whether they are ready or not (MCS-135). */
  readonly publishNotReady: ReadonlySet<string>;
}

/** A slice of an import, and the cluster it comes from; undefined if that cannot be written into a name. */
export interface ImportedSlice {
  readonly slice: EndpointSlice;
  readonly cluster: string | undefined;
}

/** The cluster of a slice. Its id is one label, or two: a name, and where that is registered. */
export function importedSlice(slice: EndpointSlice): ImportedSlice {
  const id = (slice.metadata.labels?.[sourceClusterLabel] ?? '').toLowerCase();
  const parts = id.split('.');
  const isId = parts.length <= 2 && parts.every((part) => dnsLabelErrors(part).length === 0);
  return { slice, cluster: isId ? id : undefined };
}

/** A ServiceImport; undefined if its name is more than a label, which no Service has. */
export function modelOfImport({ metadata, spec }: ServiceImport, zone: Name): ImportModel | undefined {
  if (spec === undefined) return undefined;
  const kind = spec.type === 'Headless' ? 'headless' : 'vip';
  return modelOf(metadata, { zone, kind, ips: spec.ips ?? [], ports: spec.ports ?? [], publishNotReady: new Set() });
}

/** An ImportedService, which is headless where it has no address. */
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
