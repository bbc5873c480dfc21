import type { WriteContext, Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { hasSrvName, withoutSrvName } from '../../core/service/facts.ts';
import type { Endpoint, EndpointSlice } from './schema.ts';
import { endpointSlice } from './schema.ts';
import { addressWarnings } from '../../../address-errors.ts';
import { ageColumn, column, truncatedList, nameColumn } from '../../../columns.ts';
import { validateCreate, validateUpdate } from './validate.ts';

/** Empty lists are stored as null, as in Kubernetes. */
function withNulls(slice: EndpointSlice): EndpointSlice {
  const { endpoints, ports } = slice;
  if (endpoints?.length !== 0 && ports?.length !== 0) return slice;
  return { ...slice, endpoints: endpoints?.length ? endpoints : null, ports: ports?.length ? ports : null };
}

/** The default name of a port is empty, and its protocol TCP. */
function applyDefaults(slice: EndpointSlice): EndpointSlice {
  if (!slice.ports?.some(({ name, protocol }) => name === undefined || protocol === undefined)) return slice;
  const ports = slice.ports.map((port) => ({ ...port, name: port.name ?? '', protocol: port.protocol ?? 'TCP' }));
  return { ...slice, ports };
}

function warnings({ addressType, endpoints }: EndpointSlice): string[] {
  if (addressType === 'FQDN') return ['spec.addressType: FQDN endpoints are deprecated'];
  if (addressType !== 'IPv4') return [];
  return (endpoints ?? []).flatMap(({ addresses }, index) =>
    (addresses ?? []).flatMap((address, at) => addressWarnings(`endpoints[${index}].addresses[${at}]`, address)),
  );
}

/** The ports of a slice: their number, else their name, else `*`. */
const portsText = ({ ports }: EndpointSlice): string =>
  truncatedList(
    3,
    (ports ?? []).map(({ port, name }) => (port === undefined ? name || '*' : String(port))),
  ) || '<unset>';

/** The addresses of a slice. */
const addressesText = ({ endpoints }: EndpointSlice): string =>
  truncatedList(
    3,
    (endpoints ?? []).flatMap(({ addresses }) => addresses ?? []),
  ) || '<unset>';

/** EndpointSlice of discovery.k8s.io/v1. */
export const endpointSliceKind: Kind<EndpointSlice> = defineKind<EndpointSlice>({
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
  schema: endpointSlice,
  generation: 'contentAndLabels',
  columns: [
    nameColumn,
    column<EndpointSlice>('AddressType', 'The type of all addresses.', ({ addressType }) => addressType),
    column<EndpointSlice>('Ports', 'The ports of every endpoint.', portsText),
    column<EndpointSlice>('Endpoints', 'The addresses of the endpoints.', addressesText),
    ageColumn,
  ],
  applyDefaults,
  prepareForCreate: (slice, context) => withNulls(dropFields(slice, undefined, context)),
  prepareForUpdate: (slice, old, context) => withNulls(dropFields(slice, old, context)),
  validateCreate,
  validateUpdate,
  warnings,
});

/** Drops fields whose gate is disabled and that the stored slice does not use, and topology, which is read-only in v1. */
function dropFields(slice: EndpointSlice, old: EndpointSlice | undefined, context: WriteContext): EndpointSlice {
  return withoutTopology(dropNodeHints(dropSrvNames(slice, old, context), old, context), old);
}

const usesSrvName = ({ ports }: EndpointSlice): boolean => ports?.some(hasSrvName) ?? false;

function dropSrvNames(slice: EndpointSlice, old: EndpointSlice | undefined, { gates }: WriteContext): EndpointSlice {
  if (gates.enabled('SRVServiceName') || !usesSrvName(slice) || (old !== undefined && usesSrvName(old))) return slice;
  return { ...slice, ports: slice.ports?.map(withoutSrvName) ?? null };
}

const usesNodeHints = ({ endpoints }: EndpointSlice): boolean =>
  endpoints?.some(({ hints }) => hints?.forNodes !== undefined && hints.forNodes.length > 0) ?? false;

function dropNodeHints(slice: EndpointSlice, old: EndpointSlice | undefined, { gates }: WriteContext): EndpointSlice {
  if (gates.enabled('PreferSameTrafficDistribution') || !usesNodeHints(slice)) return slice;
  if (old !== undefined && usesNodeHints(old)) return slice;
  return { ...slice, endpoints: slice.endpoints?.map(withoutNodeHints) ?? null };
}

function withoutNodeHints(endpoint: Endpoint): Endpoint {
  if (endpoint.hints?.forNodes === undefined) return endpoint;
  const { hints, ...rest } = endpoint;
  const { forNodes: _, ...others } = hints;
  return others.forZones === undefined ? rest : { ...rest, hints: others };
}

const hostnameKey = 'kubernetes.io/hostname';

/** Moves the node from the topology of a v1beta1 slice to nodeName. */
function withoutTopology(slice: EndpointSlice, old: EndpointSlice | undefined): EndpointSlice {
  if (slice.endpoints === null || !slice.endpoints.some((endpoint) => endpoint.deprecatedTopology)) return slice;
  const storedNodes = new Set(old?.endpoints?.map(({ deprecatedTopology }) => deprecatedTopology?.[hostnameKey]));
  const endpoints = slice.endpoints.map(({ deprecatedTopology, ...endpoint }): Endpoint => {
    const nodeName = deprecatedTopology?.[hostnameKey];
    if (nodeName === undefined || endpoint.nodeName !== undefined || !storedNodes.has(nodeName)) return endpoint;
    return { ...endpoint, nodeName };
  });
  return { ...slice, endpoints };
}
