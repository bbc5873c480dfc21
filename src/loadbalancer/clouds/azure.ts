import type { Service } from '../../api/kinds/core/service/schema.ts';
import { isTrue } from './annotations.ts';
import type { Product } from './product.ts';
import type { Era } from './product.ts';
import type { Cloud, Port, Request, Unit } from './cloud.ts';
import { sourceRangeRules, backends, resource, unit, unitResource } from './units.ts';

const base = {
  l4: ['TCP', 'UDP'],
  l7: [],
  mixed: 'samePort',
  form: 'separate',
  unit: 'rule',
  addressing: 'ip',
  ipMode: 'VIP',
  askedBy: 'the SKU is a setting of the cluster',
} as const;

/** LB-13: one rule per protocol and port, on one load balancer for all Services of a cluster. */
const products: readonly Product[] = [
  { ...base, name: 'basic', era: '2020-07', title: 'Basic', maxUnits: 250 },
  { ...base, name: 'standard', era: '2020-07', title: 'Standard', maxUnits: 1500 },
  { ...base, name: 'standard', era: 'today', title: 'Standard', l4: ['TCP', 'UDP', 'SCTP'], maxUnits: 1500 },
];

const prefix = 'service.beta.kubernetes.io/azure-load-balancer';
/** Opened every port for TCP and UDP before the gate existed; removed since. */
const mixedProtocols = `${prefix}-mixed-protocols`;

const isMixedByAnnotation = (service: Service, era: Era): boolean =>
  era === '2020-07' && isTrue(service, mixedProtocols);

/** Azure: all Services of a cluster share one public and one internal load balancer. */
export const azure: Cloud = {
  name: 'azure',
  title: 'Azure',
  products,
  choose: () => 'standard',
  isInternal: (service) => isTrue(service, `${prefix}-internal`),
  supports: (protocol, { isInternal }) => protocol !== 'SCTP' || isInternal,
  mixesWithoutGate: isMixedByAnnotation,
  units,
  resources(request, rules) {
    const { isInternal, service } = request;
    const shared = isInternal ? 'kubernetes-internal' : 'kubernetes';
    const isLocal = service.spec.externalTrafficPolicy === 'Local';
    const checked = rules.filter(({ ports }) => ports.some(({ protocol }) => protocol === 'TCP'));
    const health = { port: String(service.spec.healthCheckNodePort ?? ''), path: '/healthz' };
    return [
      ...(isInternal ? [] : [resource('PublicIPAddress', 'address')]),
      resource('FrontendIPConfiguration', 'frontend', { loadBalancer: shared }),
      backends(request),
      ...(isLocal ? [resource('Probe', 'health', health)] : checked.map(({ id }) => resource('Probe', id))),
      ...rules.map((rule) => unitResource('LoadBalancingRule', rule)),
      ...sourceRangeRules('NetworkSecurityRule', request),
    ];
  },
  warnings: ({ service, era }) =>
    era === 'today' && isTrue(service, mixedProtocols)
      ? [`annotation ${mixedProtocols} has no effect: list the ports of both protocols in the Service`]
      : [],
};

/** One rule per protocol, port and family, or one for all ports of an internal Service with high availability ports. */
function units({ service, era, ports, families, isInternal }: Request): readonly Unit[] {
  if (isInternal && isTrue(service, `${prefix}-enable-high-availability-ports`)) {
    return families.map((family) => unit(`All:${family}`, ports));
  }
  const all = isMixedByAnnotation(service, era) ? doubled(ports) : ports;
  return families.flatMap((family) =>
    all.map((port) => unit(`${port.protocol}:${port.port}${family === families[0] ? '' : `:${family}`}`, [port])),
  );
}

function doubled(ports: readonly Port[]): readonly Port[] {
  const both = ports.flatMap((port) => (['TCP', 'UDP'] as const).map((protocol): Port => ({ ...port, protocol })));
  return [...new Map(both.map((port) => [`${port.protocol}:${port.port}`, port])).values()];
}
