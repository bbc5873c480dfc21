import type { Service } from '../../api/kinds/core/service/schema.ts';
import { annotation, isTrue, namedPorts } from './annotations.ts';
import type { Product } from './product.ts';
import { inBothEras } from './product.ts';
import type { Cloud } from './cloud.ts';
import { sourceRangeRules, backends, backendGroups, resource, unitResource } from './units.ts';

const type = 'oci.oraclecloud.com/load-balancer-type';

/** LB-19: TCP and HTTP; the network load balancer adds UDP, with one listener for both. */
const products: readonly Product[] = [
  ...inBothEras({
    name: 'lb',
    title: 'load balancer',
    askedBy: 'the default',
    l4: ['TCP'],
    l7: ['HTTP', 'HTTPS', 'GRPC'],
    mixed: 'none',
    form: 'separate',
    unit: 'listener',
    maxUnits: 16,
    addressing: 'ip',
    ipMode: 'Proxy',
  }),
  {
    name: 'nlb',
    era: 'today',
    title: 'network load balancer',
    askedBy: `${type}: nlb`,
    l4: ['TCP', 'UDP'],
    l7: [],
    mixed: 'samePort',
    form: 'merged',
    unit: 'listener',
    maxUnits: 50,
    addressing: 'ip',
    ipMode: 'VIP',
  },
];

const prefix = 'service.beta.kubernetes.io/oci-load-balancer';

/** Oracle: load balancer for TCP and HTTP, or network load balancer. */
export const oracle: Cloud = {
  name: 'oracle',
  title: 'Oracle',
  products,
  choose: (service, era) =>
    era === 'today' && annotation(service, 'oci.oraclecloud.com/load-balancer-type') === 'nlb' ? 'nlb' : 'lb',
  isInternal: (service) =>
    isTrue(service, `${prefix}-internal`) || isTrue(service, 'oci-network-load-balancer.oraclecloud.com/internal'),
  l7: protocols,
  resources(request, units) {
    const isNlb = request.product.name === 'nlb';
    return [
      resource(isNlb ? 'NetworkLoadBalancer' : 'LoadBalancer', 'instance', {
        visibility: request.isInternal ? 'private' : 'public',
        ...(isNlb ? {} : { shape: annotation(request.service, `${prefix}-shape`) || '100Mbps' }),
      }),
      ...backendGroups('BackendSet', units),
      backends(request),
      ...units.map((unit) => {
        const protocol = unit.ports.length > 1 ? 'TCP_AND_UDP' : (unit.ports[0]?.protocol ?? 'TCP');
        return unitResource('Listener', unit, { protocol: request.l7.get(unit.ports[0]?.port ?? 0) ?? protocol });
      }),
      // Network load balancers do not manage security lists by default.
      ...(isNlb ? [] : sourceRangeRules('SecurityListRule', request)),
    ];
  },
};

function protocols(service: Service): ReadonlyMap<number, string> {
  const backend = annotation(service, `${prefix}-backend-protocol`).toUpperCase();
  const secure = namedPorts(service, `${prefix}-ssl-ports`).map((port) => [port, 'HTTPS'] as const);
  const { ports = [] } = service.spec;
  const all = backend === '' || backend === 'TCP' ? [] : ports.map(({ port }) => [port, backend] as const);
  return new Map([...all, ...secure]);
}
