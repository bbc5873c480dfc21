import { addressErrors } from '../../../address-errors.ts';
import { parseAddress } from '../../../addresses.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue, notSupported, required } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { dnsSubdomainErrors } from '../../../names.ts';
import type { LoadBalancerIngress, Service } from './schema.ts';

const modes: readonly string[] = ['Proxy', 'VIP'];

/** Everything wrong with a changed status. Port statuses and conditions are free. */
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
    for (const message of addressErrors(ip, strict)) errors.push(invalidValue(`${path}.ip`, ip, message));
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
  const errors = dnsSubdomainErrors(hostname).map((message) => invalidValue(`${path}.hostname`, hostname, message));
  if (parseAddress(hostname) === undefined) return errors;
  return [...errors, invalidValue(`${path}.hostname`, hostname, 'must be a DNS name, not an IP address')];
}
