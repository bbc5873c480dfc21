import { annotation } from '../annotations.ts';
import type { Cloud, Request } from '../cloud.ts';
import type { Fault } from '../fault.ts';
import { fault } from '../fault.ts';
import type { Resource } from '../resource.ts';
import { isMixed } from '../ports.ts';
import { admission, backends, resource, unitResource } from '../units.ts';
import { kinds } from './kinds.ts';

const classes = ['networking.gke.io/l4-regional-external', 'networking.gke.io/l4-regional-internal'] as const;

/** Google: no instance, but forwarding rules that the whole project pays for together. */
export const gce: Cloud = {
  name: 'gce',
  title: 'GCE',
  kinds,
  classes,
  choose(service, era) {
    const isL4 = classes.some((name) => name === service.spec.loadBalancerClass);
    const byAnnotation = annotation(service, 'cloud.google.com/l4-rbs') === 'enabled';
    if (era === 'today') return isL4 || byAnnotation ? 'l4-l3' : 'ccm';
    return gce.isInternal(service) ? 'ilb' : 'netlb';
  },
  isInternal: (service) =>
    service.spec.loadBalancerClass === classes[1] ||
    ['cloud.google.com', 'networking.gke.io'].some(
      (domain) => annotation(service, `${domain}/load-balancer-type`) === 'Internal',
    ),
  check,
  resources(request, rules) {
    const { kind, isInternal, ports } = request;
    const isL3 = kind.form === 'everything';
    const scheme = isInternal ? 'INTERNAL' : 'EXTERNAL';
    const protocol = isMixed(ports) ? 'UNSPECIFIED' : (ports[0]?.protocol ?? 'TCP');
    return [
      // Two rules share an address only if it is held.
      ...(rules.length > 1 && !isL3 ? [resource('Address', 'static')] : []),
      resource('HealthCheck', 'check'),
      backends(request),
      resource('BackendService', 'backends', { protocol, scheme }),
      ...admission('FirewallRule', request),
      ...rules.map((rule) => unitResource('ForwardingRule', rule, ruleSettings(isL3, rule.serves))),
      ...(isL3 ? [resource('FirewallRule', 'deny', { priority: '1000' })] : []),
    ];
  },
};

/** So many ports fit into a rule; more make it one for all. */
const longestPortList = 5;

function ruleSettings(isL3: boolean, serves: NonNullable<Resource['serves']>): Readonly<Record<string, string>> {
  if (isL3) return { protocol: 'L3_DEFAULT', ports: 'all' };
  const ports = serves.length > longestPortList ? 'all' : serves.map(({ port }) => port).join(' ');
  return { protocol: serves[0]?.protocol ?? 'TCP', ports };
}

function check({ service, kind, isInternal, families, ports, account }: Request): Fault | undefined {
  const address = service.spec.loadBalancerIP ?? '';
  const known = account.addresses?.find((each) => each.address === address);
  if (address !== '' && known?.isStatic === false) {
    const message = `address ${address} is in use and not reserved: two load balancers share only a static address`;
    return fault('fairlead.dev/AddressNotStatic', message);
  }
  const isPlain = !isInternal && families.length === 1 && families[0] === 'IPv4';
  if (kind.name !== 'l4-split' || isPlain || !isMixed(ports)) return undefined;
  const message = 'GCE splits protocols into rules for external IPv4 only: GKE 1.36 has one rule for all';
  return { code: 'MixedProtocolNotSupported', message };
}
