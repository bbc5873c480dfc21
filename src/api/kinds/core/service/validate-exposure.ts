import { contains, parseAddress, parseCidr } from '../../../addresses.ts';
import { addressErrors, cidrErrors, endpointAddressErrors } from '../../../address-errors.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue, notSupported } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { qualifiedNameErrors } from '../../../names.ts';
import { isExternallyAccessible } from './facts.ts';
import { needsHealthCheck } from './linked.ts';
import type { Service } from './schema.ts';

const onlyForLoadBalancers = "may only be used when `type` is 'LoadBalancer'";
const sourceRangesKey = 'service.beta.kubernetes.io/load-balancer-source-ranges';
const policies: readonly string[] = ['Cluster', 'Local'];
const distributions: readonly string[] = ['PreferClose'];
const moreDistributions: readonly string[] = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];

/** External IPs: addresses that nodes can have in common. */
export function checkExternalIps(
  errors: FieldError[],
  { spec: { externalIPs } }: Service,
  old: Service | undefined,
  { gates, loopbackEndpoints, allocatedRanges = [] }: WriteContext,
): void {
  if (externalIPs === undefined) return;
  const strict = gates.enabled('StrictIPCIDRValidation');
  const accepted = new Set(old?.spec.externalIPs);
  externalIPs.forEach((ip, index) => {
    const isKept = accepted.has(ip);
    const malformed = isKept ? [] : addressErrors(ip, strict);
    const messages = malformed.length > 0 ? malformed : endpointAddressErrors(ip, loopbackEndpoints);
    const taken = isKept || messages.length > 0 ? [] : allocatedErrors(ip, allocatedRanges);
    for (const message of [...messages, ...taken]) errors.push(invalidValue(`spec.externalIPs[${index}]`, ip, message));
  });
}

/** Not in Kubernetes, which accepts the address of another Service here (CVE-2020-8554). */
function allocatedErrors(ip: string, ranges: readonly string[]): readonly string[] {
  const address = parseAddress(ip);
  const range = ranges.find((text) => {
    const cidr = parseCidr(text);
    return address !== undefined && cidr !== undefined && contains(cidr, address);
  });
  return range === undefined ? [] : [`must not be in ${range}, where addresses are allocated to Services and imports`];
}

/** Source ranges of a load balancer: the field, or if it is empty the annotation from before it existed. */
export function checkSourceRanges(
  errors: FieldError[],
  { spec, metadata }: Service,
  old: Service | undefined,
  { gates }: WriteContext,
): void {
  const strict = gates.enabled('StrictIPCIDRValidation');
  const { loadBalancerSourceRanges: ranges = [] } = spec;
  if (ranges.length > 0) {
    // Kubernetes writes this path with a capital L.
    const path = 'spec.LoadBalancerSourceRanges';
    if (spec.type !== 'LoadBalancer') errors.push(forbiddenField(path, onlyForLoadBalancers));
    const accepted = new Set(old?.spec.loadBalancerSourceRanges);
    ranges.forEach((range, index) => {
      if (accepted.has(range)) return;
      checkRange(errors, `${path}[${index}]`, range, strict);
    });
    return;
  }
  const text = metadata.annotations?.[sourceRangesKey];
  if (text === undefined) return;
  const path = `metadata.annotations[${sourceRangesKey}]`;
  if (spec.type !== 'LoadBalancer') errors.push(forbiddenField(path, onlyForLoadBalancers));
  if (text === old?.metadata.annotations?.[sourceRangesKey] || text.trim() === '') return;
  for (const range of text.split(',')) checkRange(errors, path, range, strict);
}

function checkRange(errors: FieldError[], path: string, text: string, strict: boolean): void {
  const range = text.trim();
  for (const message of cidrErrors(range, strict)) errors.push(invalidValue(path, range, message));
}

/** The class of a load balancer, which never changes while it is one. */
export function checkLoadBalancerClass(errors: FieldError[], { spec }: Service, old?: Service): void {
  const path = 'spec.loadBalancerClass';
  const { loadBalancerClass } = spec;
  if (spec.type === 'LoadBalancer' && old?.spec.type === 'LoadBalancer') {
    if (loadBalancerClass !== old.spec.loadBalancerClass) {
      errors.push(invalidValue(path, loadBalancerClass, 'may not change once set'));
    }
  }
  if (loadBalancerClass === undefined) return;
  if (spec.type !== 'LoadBalancer') {
    errors.push(forbiddenField(path, onlyForLoadBalancers));
    return;
  }
  for (const message of qualifiedNameErrors(loadBalancerClass)) {
    errors.push(invalidValue(path, loadBalancerClass, message));
  }
}

/** Node ports of a load balancer by choice: a choice that others do not have. */
export function checkNodePortChoice(errors: FieldError[], { spec }: Service): void {
  if (spec.allocateLoadBalancerNodePorts === undefined || spec.type === 'LoadBalancer') return;
  errors.push(forbiddenField('spec.allocateLoadBalancerNodePorts', onlyForLoadBalancers));
}

/** Where traffic goes. Kubernetes calls a policy at the wrong place invalid, not forbidden. */
export function checkTrafficPolicies(errors: FieldError[], service: Service, { gates }: WriteContext): void {
  const { externalTrafficPolicy, healthCheckNodePort = 0, internalTrafficPolicy, trafficDistribution } = service.spec;
  if (externalTrafficPolicy) {
    const path = 'spec.externalTrafficPolicy';
    if (!isExternallyAccessible(service)) {
      const detail = 'may only be set for externally-accessible services';
      errors.push(invalidValue(path, externalTrafficPolicy, detail));
    } else if (!policies.includes(externalTrafficPolicy)) {
      errors.push(notSupported(path, externalTrafficPolicy, policies));
    }
  }
  if (healthCheckNodePort !== 0 && !needsHealthCheck(service)) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.push(invalidValue('spec.healthCheckNodePort', healthCheckNodePort, detail));
  }
  if (internalTrafficPolicy !== undefined && !policies.includes(internalTrafficPolicy)) {
    errors.push(notSupported('spec.internalTrafficPolicy', internalTrafficPolicy, policies));
  }
  if (trafficDistribution === undefined) return;
  const known = gates.enabled('PreferSameTrafficDistribution') ? moreDistributions : distributions;
  if (!known.includes(trafficDistribution)) {
    errors.push(notSupported('spec.trafficDistribution', trafficDistribution, known));
  }
}
