import { joinHostPort } from '../../../addresses.ts';
import { addressWarnings } from '../../../address-errors.ts';
import { ageColumn, column, truncatedList, nameColumn } from '../../../columns.ts';
import type { Kind, WriteContext } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { hasSrvName, withoutSrvName } from '../service/facts.ts';
import type { EndpointPort, Endpoints, EndpointSubset } from './schema.ts';
import { endpoints } from './schema.ts';
import { validateCreate, validateUpdate } from './validate.ts';

/** The default protocol of a port is TCP. */
function applyDefaults(object: Endpoints): Endpoints {
  if (object.subsets === undefined) return object;
  return { ...object, subsets: mapPorts(object.subsets, (port) => ({ ...port, protocol: port.protocol || 'TCP' })) };
}

const mapPorts = (
  subsets: readonly EndpointSubset[],
  change: (port: EndpointPort) => EndpointPort,
): readonly EndpointSubset[] =>
  subsets.map((subset) => (subset.ports === undefined ? subset : { ...subset, ports: subset.ports.map(change) }));

const usesSrvName = ({ subsets }: Endpoints): boolean => subsets?.some(({ ports }) => ports?.some(hasSrvName)) ?? false;

/** SRV-4: drops the field if its gate is disabled, unless the stored object uses it. */
function dropGatedFields(object: Endpoints, old: Endpoints | undefined, { gates }: WriteContext): Endpoints {
  if (gates.enabled('SRVServiceName') || object.subsets === undefined || !usesSrvName(object)) return object;
  if (old !== undefined && usesSrvName(old)) return object;
  return { ...object, subsets: mapPorts(object.subsets, withoutSrvName) };
}

function warnings({ subsets = [] }: Endpoints): string[] {
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [] }, index) => [
    ...addresses.flatMap(({ ip }, at) => addressWarnings(`subsets[${index}].addresses[${at}].ip`, ip)),
    ...notReadyAddresses.flatMap(({ ip }, at) => addressWarnings(`subsets[${index}].notReadyAddresses[${at}].ip`, ip)),
  ]);
}

/** The first three ready addresses with their ports. */
function endpointsText({ subsets = [] }: Endpoints): string {
  const texts = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => joinHostPort(ip, port))),
  );
  return subsets.length === 0 ? '<none>' : truncatedList(3, texts);
}

/** Endpoints of core/v1. */
export const endpointsKind: Kind<Endpoints> = defineKind<Endpoints>({
  group: '',
  version: 'v1',
  kind: 'Endpoints',
  plural: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  namespaced: true,
  schema: endpoints,
  createOnUpdate: true,
  columns: [
    nameColumn,
    column<Endpoints>('Endpoints', 'The ready addresses with their ports.', endpointsText),
    ageColumn,
  ],
  deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  applyDefaults,
  prepareForCreate: (object, context) => dropGatedFields(object, undefined, context),
  prepareForUpdate: dropGatedFields,
  validateCreate,
  validateUpdate,
  warnings,
});
