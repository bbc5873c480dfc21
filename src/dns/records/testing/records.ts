// Objects for tests of records, and records in zone file format.
import type { Service, ServiceSpec } from '../../../api/kinds/core/service/schema.ts';
import { serviceNameLabel } from '../../../api/kinds/discovery/endpointslice/labels.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../../api/kinds/discovery/endpointslice/schema.ts';
import type { ObjectMeta } from '../../../api/metadata.ts';
import type { Name, RecordData, RecordSet } from '../../../dnswire/data.ts';
import type { RecordOptions } from '../options.ts';
import type { SourceSet } from '../packed.ts';
import { serviceRecords } from '../service.ts';
import { sliceDynamicNames, sliceRecords } from '../slices.ts';
import type { Zones } from '../zones.ts';

/** A Service `default/web` with a cluster IP and port 80 named http. */
export const service = (spec: Partial<ServiceSpec> = {}, metadata: ObjectMeta = {}): Service => ({
  metadata: { name: 'web', namespace: 'default', uid: 'web', ...metadata },
  spec: {
    type: 'ClusterIP',
    clusterIP: '10.96.0.1',
    ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }],
    ...spec,
  },
  status: { loadBalancer: {} },
});

/** The same, headless. */
export const headless = (spec: Partial<ServiceSpec> = {}, metadata: ObjectMeta = {}): Service =>
  service({ clusterIP: 'None', clusterIPs: ['None'], ...spec }, metadata);

/** A ready endpoint at some addresses. */
export const endpoint = (addresses: string | readonly string[], rest: Partial<Endpoint> = {}): Endpoint => ({
  addresses: typeof addresses === 'string' ? [addresses] : addresses,
  conditions: { ready: true },
  ...rest,
});

export interface SliceSettings {
  readonly name?: string;
  readonly metadata?: ObjectMeta;
  readonly ports?: readonly EndpointPort[];
  readonly addressType?: EndpointSlice['addressType'];
}

/** A slice of that Service, with port 8080 named http. */
export const slice = (endpoints: readonly Endpoint[], settings: SliceSettings = {}): EndpointSlice => ({
  metadata: {
    name: settings.name ?? 'web-1',
    namespace: 'default',
    labels: { [serviceNameLabel]: 'web' },
    ...settings.metadata,
  },
  addressType: settings.addressType ?? (endpoints[0]?.addresses?.[0]?.includes(':') === true ? 'IPv6' : 'IPv4'),
  endpoints: [...endpoints],
  ports: [...(settings.ports ?? [{ name: 'http', port: 8080, protocol: 'TCP' }])],
});

/** Puts a Service with its slices, as the zone updater does. */
export function putService(
  zones: Zones,
  service: Service,
  { slices = [], options }: { readonly slices?: readonly EndpointSlice[]; readonly options: RecordOptions },
): void {
  const { namespace = '', name = '' } = service.metadata;
  zones.put(`Service/${namespace}/${name}`, serviceRecords({ service, slices, options }));
  for (const each of slices) {
    const source = { service, slice: each, options };
    zones.put(`EndpointSlice/${namespace}/${each.metadata.name}`, sliceRecords(source), sliceDynamicNames(source));
  }
}

/** Records as lines `owner ttl type data`, sorted. */
export const lines = (sets: readonly (SourceSet | RecordSet)[]): readonly string[] =>
  sets.flatMap(({ owner, ttl, type, data }) => data.map((each) => `${owner} ${ttl} ${type} ${text(each)}`)).toSorted();

/** All records of a zone except its SOA, as lines in the order of names; a name without records is a line of its own. */
export const zoneLines = (zones: Zones, apex: Name): readonly string[] =>
  [...zones.names(apex)].toSorted().flatMap((name) => {
    const sets = [...(zones.find(name)?.sets.values() ?? [])]
      .filter(({ type }) => type !== 'SOA')
      .toSorted((one, other) => (one.type < other.type ? -1 : 1));
    return sets.length === 0
      ? [name]
      : sets.flatMap((set) => set.data.map((each) => `${name} ${set.type} ${text(each)}`));
  });

function text(record: RecordData): string {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return record.address;
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return `${record.target}.`;
    case 'SRV':
      return `${record.priority} ${record.weight} ${record.port} ${record.target}.`;
    case 'TXT':
      return record.text.map((each) => JSON.stringify(each)).join(' ');
    case 'SOA':
      return `${record.primary}. ${record.mailbox}. ${record.serial}`;
  }
}
