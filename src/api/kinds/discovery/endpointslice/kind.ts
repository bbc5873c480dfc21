import { addressWarnings } from '../../../address-errors.ts';
import { ageColumn, column, moreThan, nameColumn } from '../../../columns.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { subdomainName } from '../../../names.ts';
import { dropFields } from './gated.ts';
import type { EndpointSlice } from './schema.ts';
import { endpointSlice } from './schema.ts';
import { validateCreate, validateUpdate } from './validate.ts';

/** Empty lists are null, as Kubernetes stores them. */
function withNulls(slice: EndpointSlice): EndpointSlice {
  const { endpoints, ports } = slice;
  if (endpoints?.length !== 0 && ports?.length !== 0) return slice;
  return { ...slice, endpoints: endpoints?.length ? endpoints : null, ports: ports?.length ? ports : null };
}

/** A port has a name, if an empty one, and a protocol. */
function applyDefaults(slice: EndpointSlice): EndpointSlice {
  if (!slice.ports?.some(({ name, protocol }) => name === undefined || !protocol)) return slice;
  const ports = slice.ports.map((port) => ({ ...port, name: port.name ?? '', protocol: port.protocol || 'TCP' }));
  return { ...slice, ports };
}

function warnings({ addressType, endpoints }: EndpointSlice): string[] {
  if (addressType === 'FQDN') return ['spec.addressType: FQDN endpoints are deprecated'];
  if (addressType !== 'IPv4') return [];
  return (endpoints ?? []).flatMap(({ addresses }, index) =>
    (addresses ?? []).flatMap((address, at) => addressWarnings(`endpoints[${index}].addresses[${at}]`, address)),
  );
}

/** The ports of a slice: numbers, else names, else `*` for all. */
const portsText = ({ ports }: EndpointSlice): string =>
  moreThan(
    3,
    (ports ?? []).map(({ port, name }) => (port === undefined ? name || '*' : String(port))),
  ) || '<unset>';

/** The addresses of a slice. */
const addressesText = ({ endpoints }: EndpointSlice): string =>
  moreThan(
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
  nameErrors: subdomainName,
  validateCreate,
  validateUpdate,
  warnings,
});
