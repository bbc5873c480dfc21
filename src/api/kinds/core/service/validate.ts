// Validates Services. The order of the checks is that of Kubernetes, because it determines the order of messages.
import { addressErrors } from '../../../address-errors.ts';
import { parseAddress } from '../../../addresses.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { dnsSubdomainErrors } from '../../../names.ts';
import type { LoadBalancerIngress, Service, ServicePort } from './schema.ts';
import { validateLabels } from '../../../validate-metadata.ts';
import { isHeadless } from './facts.ts';
import { needsHealthCheck } from './normalize.ts';
import { validateClusterIpChange, validateClusterIps } from './validate-cluster-ips.ts';
import {
  checkExternalIps,
  checkLoadBalancerClass,
  checkNodePortChoice,
  checkSourceRanges,
  checkTrafficPolicies,
} from './validate-exposure.ts';
import { checkMixedProtocols, checkPorts, checkPortsTogether } from './validate-ports.ts';

/** Validation errors of a new Service. */
export const validateCreate = (service: Service, context: WriteContext): FieldError[] =>
  validateBody(service, undefined, context);

/** Validation errors of a changed Service. */
export function validateUpdate(service: Service, old: Service, context: WriteContext): FieldError[] {
  const errors = validateClusterIpChange(service, old);
  checkLoadBalancerClass(errors, service, old);
  if (needsHealthCheck(service) && needsHealthCheck(old)) {
    if (service.spec.healthCheckNodePort !== old.spec.healthCheckNodePort) {
      errors.push(forbiddenField('spec.healthCheckNodePort', 'field is immutable'));
    }
  }
  return [...errors, ...validateBody(service, old, context)];
}

const types: readonly string[] = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const affinities: readonly string[] = ['ClientIP', 'None'];
const noPorts: readonly ServicePort[] = [];

function validateBody(service: Service, old: Service | undefined, context: WriteContext): FieldError[] {
  const errors: FieldError[] = [];
  const { type = '', ports = noPorts, selector } = service.spec;
  checkTopologyAnnotations(errors, service);
  if (ports.length === 0 && type !== 'ExternalName' && !isHeadless(service)) errors.push(required('spec.ports'));
  checkTypeAgainstAddresses(errors, service);
  checkPorts(errors, ports);
  if (selector !== undefined) errors.push(...validateLabels('spec.selector', selector));
  checkAffinity(errors, service);
  errors.push(...validateClusterIps(service, context, old));
  checkExternalIps(errors, service, old, context);
  if (type === '') errors.push(required('spec.type'));
  else if (!types.includes(type)) errors.push(notSupported('spec.type', type, types));
  checkPortsTogether(errors, type, ports);
  checkSourceRanges(errors, service, old, context);
  checkNodePortChoice(errors, service);
  checkLoadBalancerClass(errors, service);
  checkTrafficPolicies(errors, service, context);
  checkMixedProtocols(errors, service, old, context);
  return errors;
}

const topologyMode = 'service.kubernetes.io/topology-mode';
const topologyHints = 'service.kubernetes.io/topology-aware-hints';

function checkTopologyAnnotations(errors: FieldError[], { metadata: { annotations } }: Service): void {
  if (annotations === undefined) return;
  const mode = annotations[topologyMode];
  const hints = annotations[topologyHints];
  if (mode === undefined || hints === undefined || mode === hints) return;
  const detail = `must match annotations[${topologyHints}] when both are specified`;
  errors.push(invalidValue(`metadata.annotations[${topologyMode}]`, mode, detail));
}

function checkTypeAgainstAddresses(errors: FieldError[], service: Service): void {
  const { type } = service.spec;
  if (type === 'ExternalName') {
    checkExternalName(errors, service);
  } else if ((type === 'LoadBalancer' || type === 'NodePort') && isHeadless(service)) {
    errors.push(invalidValue('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`));
  }
}

function checkExternalName(errors: FieldError[], { spec }: Service): void {
  const detail = 'may not be set for ExternalName services';
  if ((spec.clusterIPs ?? []).length > 0) errors.push(forbiddenField('spec.clusterIPs', detail));
  if ((spec.ipFamilies ?? []).length > 0) errors.push(forbiddenField('spec.ipFamilies', detail));
  if (spec.ipFamilyPolicy !== undefined) errors.push(forbiddenField('spec.ipFamilyPolicy', detail));
  const { externalName = '' } = spec;
  const name = externalName.endsWith('.') ? externalName.slice(0, -1) : externalName;
  if (name === '') {
    errors.push(required('spec.externalName'));
    return;
  }
  errors.push(...invalidAll('spec.externalName', name, dnsSubdomainErrors(name)));
}

const maxAffinitySeconds = 86_400;

function checkAffinity(errors: FieldError[], { spec }: Service): void {
  const { sessionAffinity = '', sessionAffinityConfig } = spec;
  if (sessionAffinity === '') errors.push(required('spec.sessionAffinity'));
  else if (!affinities.includes(sessionAffinity)) {
    errors.push(notSupported('spec.sessionAffinity', sessionAffinity, affinities));
  }
  if (sessionAffinity === 'None' && sessionAffinityConfig !== undefined) {
    errors.push(forbiddenField('spec.sessionAffinityConfig', 'must not be set when session affinity is None'));
  }
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (sessionAffinity !== 'ClientIP' || seconds === undefined) return;
  if (seconds > 0 && seconds <= maxAffinitySeconds) return;
  const path = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds';
  errors.push(invalidValue(path, seconds, `must be greater than 0 and less than ${maxAffinitySeconds}`));
}

const modes: readonly string[] = ['Proxy', 'VIP'];

/** Validation errors of a changed status. Port statuses and conditions are not validated. */
export function validateStatus(service: Service, old: Service, { gates }: WriteContext): FieldError[] {
  const { ingress = [] } = service.status.loadBalancer;
  if (ingress.length === 0) return [];
  if (service.spec.type !== 'LoadBalancer') {
    const detail = "may only be used when `spec.type` is 'LoadBalancer'";
    return [forbiddenField('status.loadBalancer.ingress', detail)];
  }
  const accepted = new Set(old.status.loadBalancer.ingress?.map(({ ip }) => ip));
  const strict = gates.enabled('StrictIPCIDRValidation');
  return ingress.flatMap((entry, index) => {
    const path = `status.loadBalancer.ingress[${index}]`;
    return [...addressFaults(path, entry, accepted, strict), ...hostnameFaults(path, entry.hostname ?? '')];
  });
}

function addressFaults(
  path: string,
  { ip = '', ipMode }: LoadBalancerIngress,
  accepted: ReadonlySet<string | undefined>,
  strict: boolean,
): FieldError[] {
  const errors: FieldError[] = [];
  if (ip !== '' && !accepted.has(ip)) {
    errors.push(...invalidAll(`${path}.ip`, ip, addressErrors(ip, strict)));
  }
  if (ip !== '' && ipMode === undefined) {
    errors.push(required(`${path}.ipMode`, 'must be specified when `ip` is set'));
  } else if (ip === '' && ipMode !== undefined) {
    errors.push(forbiddenField(`${path}.ipMode`, 'may not be specified when `ip` is not set'));
  } else if (ipMode !== undefined && !modes.includes(ipMode)) {
    errors.push(notSupported(`${path}.ipMode`, ipMode, modes));
  }
  return errors;
}

function hostnameFaults(path: string, hostname: string): FieldError[] {
  if (hostname === '') return [];
  const errors = invalidAll(`${path}.hostname`, hostname, dnsSubdomainErrors(hostname));
  if (parseAddress(hostname) === undefined) return errors;
  return [...errors, invalidValue(`${path}.hostname`, hostname, 'must be a DNS name, not an IP address')];
}
