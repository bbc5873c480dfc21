import { addressErrors } from '../../../address-errors.ts';
import { parseAddress } from '../../../addresses.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, notSupported, required } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { dnsSubdomainErrors, wildcardSubdomainErrors } from '../../../names.ts';
import type { HttpIngressPath, Ingress, IngressRule, IngressTls } from './schema.ts';
import { invalidAll, isRelaxedOnly, validateBackend } from './validate-backend.ts';

/** What an object may get wrong, because the stored one has it wrong already or a gate allows it. */
interface Allowances {
  readonly relaxedServiceNames: boolean;
  readonly badSecretNames: boolean;
  readonly badWildcardRules: boolean;
}

/** The annotation that named the class before the field existed. */
export const classAnnotation = 'kubernetes.io/ingress.class';

/** Everything wrong with a new Ingress. */
export function validateCreate(ingress: Ingress, { gates }: WriteContext): FieldError[] {
  const errors = validateSpec(ingress, {
    relaxedServiceNames: gates.enabled('RelaxedServiceNameValidation'),
    badSecretNames: false,
    badWildcardRules: false,
  });
  const annotation = ingress.metadata.annotations?.[classAnnotation];
  const { ingressClassName } = ingress.spec;
  if (annotation === undefined || ingressClassName === undefined || annotation === ingressClassName) return errors;
  const detail = 'must match `ingressClassName` when both are specified';
  // Kubernetes leaves out `metadata.` in this path.
  return [...errors, invalidValue(`annotations.${classAnnotation}`, annotation, detail)];
}

/** Everything wrong with a changed Ingress; what `old` has wrong already is no reason to refuse another change. */
export function validateUpdate(ingress: Ingress, old: Ingress, { gates }: WriteContext): FieldError[] {
  return validateSpec(ingress, {
    relaxedServiceNames: gates.enabled('RelaxedServiceNameValidation') || usesRelaxedName(old),
    badSecretNames: old.spec.tls?.some(({ secretName = '' }) => secretErrors(secretName).length > 0) ?? false,
    badWildcardRules:
      old.spec.rules?.some((rule) => rule.host?.includes('*') && validateHttp('', rule, false).length > 0) ?? false,
  });
}

/** KEP-5311 with the gate off: one relaxed name that is stored, the default backend's included, allows all. */
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
    ...(isWildcard && allowed.badWildcardRules ? [] : validateHttp(path, rule, allowed.relaxedServiceNames)),
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
  const refuse = (detail: string): unknown => errors.push(invalidValue(`${at}.path`, path, detail));
  if (!pathTypes.includes(pathType)) {
    errors.push(notSupported(`${at}.pathType`, pathType, pathTypes));
  } else if (pathType === 'ImplementationSpecific') {
    if (path !== '' && !path.startsWith('/')) refuse('must be an absolute path');
  } else {
    if (!path.startsWith('/')) refuse('must be an absolute path');
    for (const part of badParts) if (path.includes(part)) refuse(`must not contain '${part}'`);
    for (const end of badEnds) if (path.endsWith(end)) refuse(`cannot end with '${end}'`);
  }
  return [...errors, ...validateBackend(`${at}.backend`, backend, relaxed)];
}

const secretErrors = (name: string): readonly string[] => (name === '' ? [] : dnsSubdomainErrors(name));

function validateTls(path: string, { hosts = [], secretName = '' }: IngressTls, allowed: Allowances): FieldError[] {
  return [
    ...hosts.flatMap((host, index) => validateHost(`${path}.hosts[${index}]`, host)),
    ...(allowed.badSecretNames ? [] : invalidAll(`${path}.secretName`, secretName, secretErrors(secretName))),
  ];
}

/** Everything wrong with a changed status. */
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
