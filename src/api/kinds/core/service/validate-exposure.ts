import { contains, parseAddress, parseCidr } from '../../../addresses.ts';
import { addressErrors, cidrErrors, endpointAddressErrors } from '../../../address-errors.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, notSupported } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { qualifiedNameErrors } from '../../../names.ts';
import { isExternallyAccessible } from './facts.ts';
import { needsHealthCheck } from './normalize.ts';
import type { Service } from './schema.ts';

const onlyForLoadBalancers = "may only be used when `type` is 'LoadBalancer'";
const sourceRangesKey = 'service.beta.kubernetes.io/load-balancer-source-ranges';
const policies: readonly string[] = ['Cluster', 'Local'];
const distributions: readonly string[] = ['PreferClose'];
const moreDistributions: readonly string[] = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];

/** Validates external IPs. */
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
    errors.push(...invalidAll(`spec.externalIPs[${index}]`, ip, [...messages, ...taken]));
  });
}

/** Not in Kubernetes, where an external IP can be the address of another Service (CVE-2020-8554). */
function allocatedErrors(ip: string, ranges: readonly string[]): readonly string[] {
  const address = parseAddress(ip);
  const range = ranges.find((text) => {
    const cidr = parseCidr(text);
    return address !== undefined && cidr !== undefined && contains(cidr, address);
  });
  return range === undefined ? [] : [`must not be in ${range}, where addresses are allocated to Services and imports`];
}

/** Validates the source ranges of a load balancer: the field, or if it is empty the older annotation. */
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
    // Ranges may be padded with spaces.
    const accepted = new Set(old?.spec.loadBalancerSourceRanges?.map((range) => range.trim()));
    ranges.forEach((range, index) => {
      if (!accepted.has(range.trim())) checkRange(errors, `${path}[${index}]`, range, strict);
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
  errors.push(...invalidAll(path, range, cidrErrors(range, strict)));
}

/** Validates the class of a load balancer, which is immutable while the type is LoadBalancer. */
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

/** Rejects allocateLoadBalancerNodePorts for other types. */
export function checkNodePortChoice(errors: FieldError[], { spec }: Service): void {
  if (spec.allocateLoadBalancerNodePorts === undefined || spec.type === 'LoadBalancer') return;
  errors.push(forbiddenField('spec.allocateLoadBalancerNodePorts', onlyForLoadBalancers));
}

/** Validates traffic policies and distribution. Kubernetes reports policies of wrong types as invalid, not forbidden. */
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
