import { annotation } from './annotations.ts';
import type { Product } from './product.ts';
import type { Cloud, Request } from './cloud.ts';
import type { Fault } from './fault.ts';
import { fault } from './fault.ts';
import { isMixed } from './ports.ts';
import type { Resource } from './resource.ts';
import { sourceRangeRules, backends, resource, unitResource } from './units.ts';

const base = {
  l4: ['TCP', 'UDP'],
  l7: [],
  form: 'perProtocol',
  unit: 'forwarding rule',
  addressing: 'ip',
  ipMode: 'VIP',
} as const;
const internal = 'cloud.google.com/load-balancer-type: Internal';
const l4Class = 'loadBalancerClass: networking.gke.io/l4-regional-external';

/** LB-15: one forwarding rule per protocol, or, since GKE 1.36, one for all. */
const products: readonly Product[] = [
  { ...base, name: 'netlb', era: '2020-07', title: 'network load balancer', askedBy: 'the default', mixed: 'none' },
  { ...base, name: 'ilb', era: '2020-07', title: 'internal load balancer', askedBy: internal, mixed: 'none' },
  { ...base, name: 'ccm', era: 'today', title: 'load balancer', askedBy: 'the default', mixed: 'none' },
  {
    ...base,
    name: 'l4-split',
    era: 'today',
    title: 'L4 load balancer (split rules)',
    askedBy: `${l4Class} before GKE 1.36`,
    mixed: 'samePort',
  },
  {
    ...base,
    name: 'l4-l3',
    era: 'today',
    title: 'L4 load balancer',
    askedBy: `${l4Class}, or -internal`,
    mixed: 'samePort',
    form: 'everything',
  },
];

const classes = ['networking.gke.io/l4-regional-external', 'networking.gke.io/l4-regional-internal'] as const;

/** GCE: forwarding rules without an instance, billed per project. */
export const gce: Cloud = {
  name: 'gce',
  title: 'GCE',
  products,
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
    const { product, isInternal, ports } = request;
    const isL3 = product.form === 'everything';
    const scheme = isInternal ? 'INTERNAL' : 'EXTERNAL';
    const protocol = isMixed(ports) ? 'UNSPECIFIED' : (ports[0]?.protocol ?? 'TCP');
    return [
      // Two rules can share only a reserved address.
      ...(rules.length > 1 && !isL3 ? [resource('Address', 'static')] : []),
      resource('HealthCheck', 'check'),
      backends(request),
      resource('BackendService', 'backends', { protocol, scheme }),
      ...sourceRangeRules('FirewallRule', request),
      ...rules.map((rule) => unitResource('ForwardingRule', rule, ruleSettings(isL3, rule.serves))),
      ...(isL3 ? [resource('FirewallRule', 'deny', { priority: '1000' })] : []),
    ];
  },
};

/** The maximum number of ports of a rule; with more, the rule is for all ports. */
const maxPortsPerRule = 5;

function ruleSettings(isL3: boolean, serves: NonNullable<Resource['serves']>): Readonly<Record<string, string>> {
  if (isL3) return { protocol: 'L3_DEFAULT', ports: 'all' };
  const ports = serves.length > maxPortsPerRule ? 'all' : serves.map(({ port }) => port).join(' ');
  return { protocol: serves[0]?.protocol ?? 'TCP', ports };
}

function check({ service, product, isInternal, families, ports, account }: Request): Fault | undefined {
  const address = service.spec.loadBalancerIP ?? '';
  const known = account.addresses?.find((each) => each.address === address);
  if (address !== '' && known?.isStatic === false) {
    const message = `address ${address} is in use and not reserved: load balancers can share only a static address`;
    return fault('fairlead.dev/AddressNotStatic', message);
  }
  const isPlain = !isInternal && families.length === 1 && families[0] === 'IPv4';
  if (product.name !== 'l4-split' || isPlain || !isMixed(ports)) return undefined;
  const message =
    'GCE supports split rules for several protocols only for external IPv4; GKE 1.36 has one rule for all';
  return { code: 'MixedProtocolNotSupported', message };
}
