import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import {
  dns1035LabelErrors,
  dnsLabelErrors,
  dnsSubdomainErrors,
  pathSegmentErrors,
  portNameErrors,
  portNumberErrors,
} from '../../../names.ts';
import type { IngressBackend } from './schema.ts';

/** Everything wrong with a backend; `relaxed` allows Service names that start with a digit (KEP-5311). */
export function validateBackend(path: string, { service, resource }: IngressBackend, relaxed: boolean): FieldError[] {
  if (service !== undefined && resource !== undefined) {
    return [invalidValue(path, '', 'cannot set both resource and service backends')];
  }
  if (resource !== undefined) return validateResource(`${path}.resource`, resource);
  if (service === undefined) return [invalidValue(path, '', 'resource or service backend is required')];
  const nameErrors = relaxed ? dnsLabelErrors : dns1035LabelErrors;
  return [
    ...(service.name === ''
      ? [required(`${path}.service.name`)]
      : invalidAll(`${path}.service.name`, service.name, nameErrors(service.name))),
    ...validatePort(path, service.port ?? {}),
  ];
}

/** Whether a Service name is only legal since names were relaxed. */
export const isRelaxedOnly = (name: string): boolean =>
  dnsLabelErrors(name).length === 0 && dns1035LabelErrors(name).length > 0;

type ServicePort = NonNullable<NonNullable<IngressBackend['service']>['port']>;

function validatePort(path: string, { name = '', number = 0 }: ServicePort): FieldError[] {
  if (name !== '' && number !== 0) return [invalidValue(path, '', 'cannot set both port name & port number')];
  if (name !== '') return invalidAll(`${path}.service.port.name`, name, portNameErrors(name));
  if (number !== 0) return invalidAll(`${path}.service.port.number`, number, portNumberErrors(number));
  return [required(path, 'port name or number is required')];
}

function validateResource(path: string, resource: NonNullable<IngressBackend['resource']>): FieldError[] {
  const { apiGroup, kind, name } = resource;
  return [
    ...(apiGroup === undefined ? [] : invalidAll(`${path}.apiGroup`, apiGroup, dnsSubdomainErrors(apiGroup))),
    ...validateSegment(`${path}.kind`, kind),
    ...validateSegment(`${path}.name`, name),
  ];
}

/** A value that must be there and fit into a URL. */
export const validateSegment = (path: string, value: string): FieldError[] =>
  value === '' ? [required(path)] : invalidAll(path, value, pathSegmentErrors(value));

/** One error per message. */
export const invalidAll = (path: string, value: unknown, messages: readonly string[]): FieldError[] =>
  messages.map((message) => invalidValue(path, value, message));
