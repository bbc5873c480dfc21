import { isDeepStrictEqual } from 'node:util';
import { applicationErrors, protocolErrors } from '../../core/service/validate-ports.ts';
import { addressErrors, canonicalAddressErrors, endpointAddressErrors } from '../../../address-errors.ts';
import { familyOf } from '../../../addresses.ts';
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, invalidAll, invalidValue, notSupported, required, tooMany } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors } from '../../../names.ts';
import type { AddressType, Endpoint, EndpointPort, EndpointSlice } from './schema.ts';

const addressTypes: readonly string[] = ['FQDN', 'IPv4', 'IPv6'];
const maxPorts = 20_000;
const maxEndpoints = 1000;
const maxAddresses = 100;
const maxHints = 8;

/** Validation errors of a new slice. */
export const validateCreate = (slice: EndpointSlice, context: WriteContext): FieldError[] =>
  validateSlice(slice, undefined, context);

/** Validation errors of a changed slice. Unchanged endpoints are not validated; ports are. */
export function validateUpdate(slice: EndpointSlice, old: EndpointSlice, context: WriteContext): FieldError[] {
  const errors = validateSlice(slice, old, context);
  if (slice.addressType !== old.addressType) {
    errors.push(invalidValue('addressType', slice.addressType, 'field is immutable'));
  }
  return errors;
}

function validateSlice(slice: EndpointSlice, old: EndpointSlice | undefined, context: WriteContext): FieldError[] {
  const errors: FieldError[] = [];
  // The decoder sets the field to an empty string if it is missing.
  const addressType: string = slice.addressType;
  if (addressType === '') errors.push(required('addressType'));
  else if (!addressTypes.includes(addressType)) errors.push(notSupported('addressType', addressType, addressTypes));
  checkPorts(errors, slice.ports ?? []);
  if (old === undefined || !isDeepStrictEqual(slice.endpoints ?? [], old.endpoints ?? [])) {
    checkEndpoints(errors, slice.endpoints ?? [], slice.addressType, context);
  }
  return errors;
}

function checkPorts(errors: FieldError[], ports: readonly EndpointPort[]): void {
  if (ports.length > maxPorts) {
    errors.push(tooMany('ports', ports.length, maxPorts));
    return;
  }
  const names = new Set<string>();
  ports.forEach((port, index) => {
    const { name = '' } = port;
    const path = `ports[${index}]`;
    if (name !== '') errors.push(...invalidAll(`${path}.name`, name, dnsLabelErrors(name)));
    if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
    names.add(name);
    errors.push(...protocolErrors(path, port.protocol), ...applicationErrors(path, port));
  });
}

function checkEndpoints(
  errors: FieldError[],
  endpoints: readonly Endpoint[],
  addressType: AddressType,
  context: WriteContext,
): void {
  if (endpoints.length > maxEndpoints) {
    errors.push(tooMany('endpoints', endpoints.length, maxEndpoints));
    return;
  }
  endpoints.forEach((endpoint, index) => {
    const path = `endpoints[${index}]`;
    checkAddresses(errors, `${path}.addresses`, endpoint.addresses ?? [], addressType, context);
    const { nodeName, hostname, hints } = endpoint;
    if (nodeName !== undefined) errors.push(...invalidAll(`${path}.nodeName`, nodeName, dnsSubdomainErrors(nodeName)));
    if (hostname !== undefined) errors.push(...invalidAll(`${path}.hostname`, hostname, dnsLabelErrors(hostname)));
    if (hints === undefined) return;
    checkHints(errors, `${path}.hints.forZones`, hints.forZones ?? [], labelValueErrors);
    checkHints(errors, `${path}.hints.forNodes`, hints.forNodes ?? [], dnsSubdomainErrors);
  });
}

function checkAddresses(
  errors: FieldError[],
  path: string,
  addresses: readonly string[],
  addressType: AddressType,
  context: WriteContext,
): void {
  if (addresses.length === 0) errors.push(required(path, 'must contain at least 1 address'));
  if (addresses.length > maxAddresses) errors.push(tooMany(path, addresses.length, maxAddresses));
  // Addresses of an unknown type are not validated.
  addresses.forEach((address, index) => {
    const at = `${path}[${index}]`;
    if (addressType === 'FQDN') checkDomain(errors, at, address);
    if (addressType === 'IPv4' || addressType === 'IPv6') checkIp(errors, path, at, address, addressType, context);
  });
}

function checkIp(
  errors: FieldError[],
  path: string,
  at: string,
  address: string,
  family: 'IPv4' | 'IPv6',
  { gates, loopbackEndpoints }: WriteContext,
): void {
  const malformed =
    family === 'IPv6'
      ? canonicalAddressErrors(address)
      : addressErrors(address, gates.enabled('StrictIPCIDRValidation'));
  if (malformed.length > 0) {
    errors.push(...invalidAll(at, address, malformed));
    return;
  }
  // Kubernetes reports a wrong family without an index.
  if (familyOf(address) !== family) errors.push(invalidValue(path, address, `must be an ${family} address`));
  errors.push(...invalidAll(at, address, endpointAddressErrors(address, loopbackEndpoints)));
}

function checkDomain(errors: FieldError[], at: string, address: string): void {
  if (address === '') {
    errors.push(required(at));
    return;
  }
  const name = address.endsWith('.') ? address.slice(0, -1) : address;
  const messages = dnsSubdomainErrors(name);
  if (messages.length > 0) {
    errors.push(invalidValue(at, name, messages.join(',')));
    return;
  }
  if (!name.includes('.')) {
    errors.push(invalidValue(at, name, 'should be a domain with at least two segments separated by dots'));
    return;
  }
  for (const label of name.split('.')) {
    const faults = dnsLabelErrors(label);
    if (faults.length === 0) continue;
    errors.push(invalidValue(at, label, faults.join(',')));
    return;
  }
}

function checkHints(
  errors: FieldError[],
  path: string,
  hints: readonly { readonly name: string }[],
  nameErrors: (name: string) => readonly string[],
): void {
  if (hints.length > maxHints) {
    errors.push(tooMany(path, hints.length, maxHints));
    return;
  }
  hints.forEach(({ name }, index) => {
    const at = `${path}[${index}].name`;
    if (hints.findIndex((other) => other.name === name) < index) errors.push(duplicate(at, name));
    errors.push(...invalidAll(at, name, nameErrors(name)));
  });
}
