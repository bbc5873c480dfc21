import { isDeepStrictEqual } from 'node:util';
import { applicationErrors, protocolErrors } from '../service/validate-ports.ts';
import { addressErrors, endpointAddressErrors } from '../../../address-errors.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, required } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { dnsLabelErrors, dnsSubdomainErrors, portNumberErrors } from '../../../names.ts';
import type { EndpointAddress, EndpointPort, Endpoints, EndpointSubset } from './schema.ts';

/** Validation errors of new Endpoints. */
export function validateCreate({ subsets = [] }: Endpoints, context: WriteContext): FieldError[] {
  const errors: FieldError[] = [];
  subsets.forEach((subset, index) => checkSubset(errors, `subsets[${index}]`, subset, context));
  return errors;
}

/** Validation errors of changed Endpoints. Unchanged subsets are not validated. */
export const validateUpdate = (endpoints: Endpoints, old: Endpoints, context: WriteContext): FieldError[] =>
  isDeepStrictEqual(endpoints.subsets, old.subsets) ? [] : validateCreate(endpoints, context);

function checkSubset(errors: FieldError[], path: string, subset: EndpointSubset, context: WriteContext): void {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
  if (addresses.length === 0 && notReadyAddresses.length === 0) {
    errors.push(required(path, 'must specify `addresses` or `notReadyAddresses`'));
  }
  addresses.forEach((address, index) => checkAddress(errors, `${path}.addresses[${index}]`, address, context));
  notReadyAddresses.forEach((address, index) =>
    checkAddress(errors, `${path}.notReadyAddresses[${index}]`, address, context),
  );
  ports.forEach((port, index) => checkPort(errors, `${path}.ports[${index}]`, port, ports.length > 1));
}

/** EXT-5: an address is an IP, never a name. */
function checkAddress(errors: FieldError[], path: string, address: EndpointAddress, context: WriteContext): void {
  const { ip, hostname = '', nodeName } = address;
  errors.push(...invalidAll(`${path}.ip`, ip, addressErrors(ip, context.gates.enabled('StrictIPCIDRValidation'))));
  if (hostname !== '') errors.push(...invalidAll(`${path}.hostname`, hostname, dnsLabelErrors(hostname)));
  if (nodeName !== undefined) errors.push(...invalidAll(`${path}.nodeName`, nodeName, dnsSubdomainErrors(nodeName)));
  // Text that is not an address gets a second error here, as in Kubernetes.
  errors.push(...invalidAll(`${path}.ip`, ip, endpointAddressErrors(ip, context.loopbackEndpoints)));
}

function checkPort(errors: FieldError[], path: string, port: EndpointPort, needsName: boolean): void {
  const { name = '' } = port;
  if (name !== '') errors.push(...invalidAll(`${path}.name`, name, dnsLabelErrors(name)));
  else if (needsName) errors.push(required(`${path}.name`));
  errors.push(...invalidAll(`${path}.port`, port.port, portNumberErrors(port.port)));
  errors.push(...protocolErrors(path, port.protocol), ...applicationErrors(path, port));
}
