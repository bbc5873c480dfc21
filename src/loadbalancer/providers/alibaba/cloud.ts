import { annotation, listed } from '../annotations.ts';
import type { Cloud } from '../cloud.ts';
import { admission, backends, besideUnits, resource, unitResource } from '../units.ts';
import { kinds } from './kinds.ts';

const prefix = 'service.beta.kubernetes.io/alibaba-cloud-loadbalancer';
const nlbClass = 'alibabacloud.com/nlb';

/** Alibaba Cloud: one instance for each Service, and listeners that do not change its price. */
export const alibaba: Cloud = {
  name: 'alibaba',
  title: 'Alibaba',
  kinds,
  classes: [nlbClass],
  choose: (service, era) => (era === 'today' && service.spec.loadBalancerClass === nlbClass ? 'nlb' : 'clb'),
  isInternal: (service) => annotation(service, `${prefix}-address-type`) === 'intranet',
  // `https:443,udp:53`; what only repeats the protocol of the port asks for nothing.
  l7: (service) =>
    new Map(
      listed(service, `${prefix}-protocol-port`).flatMap((item) => {
        const [protocol = '', port = ''] = item.toUpperCase().split(':');
        return ['TCP', 'UDP'].includes(protocol) ? [] : [[Number(port), protocol === 'TCPSSL' ? 'TLS' : protocol]];
      }),
    ),
  resources(request, units) {
    const isNlb = request.kind.name === 'nlb';
    const address = request.isInternal ? 'intranet' : 'internet';
    const spec = annotation(request.service, `${prefix}-spec`);
    return [
      resource(isNlb ? 'NetworkLoadBalancer' : 'LoadBalancer', 'instance', { address, ...(spec && { spec }) }),
      backends(request),
      ...besideUnits(isNlb ? 'ServerGroup' : 'VServerGroup', units),
      ...units.map((unit) => {
        const protocol = request.l7.get(unit.ports[0]?.port ?? 0) ?? unit.ports[0]?.protocol ?? 'TCP';
        return unitResource('Listener', unit, { protocol });
      }),
      ...admission(isNlb ? 'SecurityGroup' : 'AccessControlList', request, { always: false }),
    ];
  },
};
