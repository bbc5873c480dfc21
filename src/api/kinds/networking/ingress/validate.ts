import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import {
  dns1035LabelErrors,
  dnsLabelErrors,
  dnsSubdomainErrors,
  pathSegmentErrors,
  portNameErrors,
  portNumberErrors,
  wildcardSubdomainErrors,
} from '../../../names.ts';
import type { IngressBackend, HttpIngressPath, Ingress, IngressRule, IngressTls } from './schema.ts';
import { addressErrors } from '../../../address-errors.ts';
import { parseAddress } from '../../../addresses.ts';
import type { WriteContext } from '../../../kind.ts';

/** Rules that are relaxed by a gate, or because the stored object already violates them. */
interface Allowances {
  readonly relaxedServiceNames: boolean;
  readonly invalidSecretNames: boolean;
  readonly invalidWildcardRules: boolean;
}

/** The annotation with the class, from before the field existed. */
export const classAnnotation = 'kubernetes.io/ingress.class';

/** Validation errors of a new Ingress. */
export function validateCreate(ingress: Ingress, { gates }: WriteContext): FieldError[] {
  const errors = validateSpec(ingress, {
    relaxedServiceNames: gates.enabled('RelaxedServiceNameValidation'),
    invalidSecretNames: false,
    invalidWildcardRules: false,
  });
  const annotation = ingress.metadata.annotations?.[classAnnotation];
  const { ingressClassName } = ingress.spec;
  if (annotation === undefined || ingressClassName === undefined || annotation === ingressClassName) return errors;
  const detail = 'must match `ingressClassName` when both are specified';
  // Kubernetes omits `metadata.` in this path.
  return [...errors, invalidValue(`annotations.${classAnnotation}`, annotation, detail)];
}

/** Validation errors of a changed Ingress; rules that `old` already violates are relaxed. */
export function validateUpdate(ingress: Ingress, old: Ingress, { gates }: WriteContext): FieldError[] {
  return validateSpec(ingress, {
    relaxedServiceNames: gates.enabled('RelaxedServiceNameValidation') || usesRelaxedName(old),
    invalidSecretNames: old.spec.tls?.some(({ secretName = '' }) => secretErrors(secretName).length > 0) ?? false,
    invalidWildcardRules:
      old.spec.rules?.some((rule) => rule.host?.includes('*') && validateHttp('', rule, false).length > 0) ?? false,
  });
}

/** KEP-5311 with the gate disabled: any stored relaxed name, also of the default backend, allows others. */
function usesRelaxedName({ spec: { defaultBackend, rules = [] } }: Ingress): boolean {
  const backends = rules.flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend));
  const names = [defaultBackend, ...backends].map((backend) => backend?.service?.name);
  return names.some((name) => name !== undefined && isRelaxedOnly(name));
}

function validateSpec({ spec }: Ingress, allowed: Allowances): FieldError[] {
  const { defaultBackend, rules = [], tls = [], ingressClassName } = spec;
  const { relaxedServiceNames } = allowed;
  return [
    ...(rules.length === 0 && defaultBackend === undefined
      ? [invalidValue('spec', spec.rules, 'either `defaultBackend` or `rules` must be specified')]
      : []),
    ...(defaultBackend === undefined
      ? []
      : validateBackend('spec.defaultBackend', defaultBackend, relaxedServiceNames)),
    ...rules.flatMap((rule, index) => validateRule(`spec.rules[${index}]`, rule, allowed)),
    ...tls.flatMap((entry, index) => validateTls(`spec.tls[${index}]`, entry, allowed)),
    ...(ingressClassName === undefined
      ? []
      : invalidAll('spec.ingressClassName', ingressClassName, dnsSubdomainErrors(ingressClassName))),
  ];
}

function validateRule(path: string, rule: IngressRule, allowed: Allowances): FieldError[] {
  const { host = '' } = rule;
  const isWildcard = host.includes('*');
  return [
    ...(host !== '' && parseAddress(host) !== undefined
      ? [invalidValue(`${path}.host`, host, 'must be a DNS name, not an IP address')]
      : []),
    ...(host === '' ? [] : validateHost(`${path}.host`, host)),
    ...(isWildcard && allowed.invalidWildcardRules ? [] : validateHttp(path, rule, allowed.relaxedServiceNames)),
  ];
}

const validateHost = (path: string, host: string): FieldError[] =>
  invalidAll(path, host, host.includes('*') ? wildcardSubdomainErrors(host) : dnsSubdomainErrors(host));

function validateHttp(path: string, { http }: IngressRule, relaxed: boolean): FieldError[] {
  if (http === undefined) return [];
  const paths = http.paths ?? [];
  if (paths.length === 0) return [required(`${path}.http.paths`)];
  return paths.flatMap((entry, index) => validatePath(`${path}.http.paths[${index}]`, entry, relaxed));
}

const pathTypes: readonly string[] = ['Exact', 'ImplementationSpecific', 'Prefix'];
const badParts: readonly string[] = ['//', '/./', '/../', '%2f', '%2F'];
const badEnds: readonly string[] = ['/..', '/.'];

function validatePath(at: string, { path = '', pathType, backend }: HttpIngressPath, relaxed: boolean): FieldError[] {
  if (pathType === undefined) return [required(`${at}.pathType`, 'pathType must be specified')];
  const errors: FieldError[] = [];
  const reject = (detail: string): unknown => errors.push(invalidValue(`${at}.path`, path, detail));
  if (!pathTypes.includes(pathType)) {
    errors.push(notSupported(`${at}.pathType`, pathType, pathTypes));
  } else if (pathType === 'ImplementationSpecific') {
    if (path !== '' && !path.startsWith('/')) reject('must be an absolute path');
  } else {
    if (!path.startsWith('/')) reject('must be an absolute path');
    for (const part of badParts) if (path.includes(part)) reject(`must not contain '${part}'`);
    for (const end of badEnds) if (path.endsWith(end)) reject(`cannot end with '${end}'`);
  }
  return [...errors, ...validateBackend(`${at}.backend`, backend, relaxed)];
}

const secretErrors = (name: string): readonly string[] => (name === '' ? [] : dnsSubdomainErrors(name));

function validateTls(path: string, { hosts = [], secretName = '' }: IngressTls, allowed: Allowances): FieldError[] {
  return [
    ...hosts.flatMap((host, index) => validateHost(`${path}.hosts[${index}]`, host)),
    ...(allowed.invalidSecretNames ? [] : invalidAll(`${path}.secretName`, secretName, secretErrors(secretName))),
  ];
}

/** Validation errors of a changed status. */
export function validateStatus(ingress: Ingress, old: Ingress, { gates }: WriteContext): FieldError[] {
  const strict = gates.enabled('StrictIPCIDRValidation');
  const accepted = new Set(old.status.loadBalancer.ingress?.map(({ ip }) => ip));
  return (ingress.status.loadBalancer.ingress ?? []).flatMap(({ ip = '', hostname = '' }, index) => {
    const path = `status.loadBalancer.ingress[${index}]`;
    return [
      ...(ip === '' || accepted.has(ip) ? [] : invalidAll(`${path}.ip`, ip, addressErrors(ip, strict))),
      ...(hostname === '' ? [] : invalidAll(`${path}.hostname`, hostname, dnsSubdomainErrors(hostname))),
      ...(hostname !== '' && parseAddress(hostname) !== undefined
        ? [invalidValue(`${path}.hostname`, hostname, 'must be a DNS name, not an IP address')]
        : []),
    ];
  });
}

/** Validation errors of a backend; `relaxed` allows Service names that start with a digit (KEP-5311). */
function validateBackend(path: string, { service, resource }: IngressBackend, relaxed: boolean): FieldError[] {
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

/** Whether a Service name is valid only with RelaxedServiceNameValidation. */
const isRelaxedOnly = (name: string): boolean =>
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

/** Validation errors of a required URL path segment. */
export const validateSegment = (path: string, value: string): FieldError[] =>
  value === '' ? [required(path)] : invalidAll(path, value, pathSegmentErrors(value));
