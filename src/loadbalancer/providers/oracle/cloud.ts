import type { Service } from '../../../api/kinds/core/service/schema.ts';
import { annotation, isTrue, namedPorts } from '../annotations.ts';
import type { Cloud } from '../cloud.ts';
import { admission, backends, besideUnits, resource, unitResource } from '../units.ts';
import { kinds } from './kinds.ts';

const prefix = 'service.beta.kubernetes.io/oci-load-balancer';

/** Oracle: a load balancer for TCP and HTTP, or a network load balancer. */
export const oracle: Cloud = {
  name: 'oracle',
  title: 'Oracle',
  kinds,
  choose: (service, era) =>
    era === 'today' && annotation(service, 'oci.oraclecloud.com/load-balancer-type') === 'nlb' ? 'nlb' : 'lb',
  isInternal: (service) =>
    isTrue(service, `${prefix}-internal`) || isTrue(service, 'oci-network-load-balancer.oraclecloud.com/internal'),
  l7: protocols,
  resources(request, units) {
    const isNlb = request.kind.name === 'nlb';
    return [
      resource(isNlb ? 'NetworkLoadBalancer' : 'LoadBalancer', 'instance', {
        visibility: request.isInternal ? 'private' : 'public',
        ...(isNlb ? {} : { shape: annotation(request.service, `${prefix}-shape`) || '100Mbps' }),
      }),
      ...besideUnits('BackendSet', units),
      backends(request),
      ...units.map((unit) => {
        const protocol = unit.ports.length > 1 ? 'TCP_AND_UDP' : (unit.ports[0]?.protocol ?? 'TCP');
        return unitResource('Listener', unit, { protocol: request.l7.get(unit.ports[0]?.port ?? 0) ?? protocol });
      }),
      // Network load balancers leave security lists alone unless told otherwise.
      ...(isNlb ? [] : admission('SecurityListRule', request)),
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
