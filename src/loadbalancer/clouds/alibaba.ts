import { annotation, listed } from './annotations.ts';
import type { Product } from './product.ts';
import type { Cloud } from './cloud.ts';
import { sourceRangeRules, backends, backendGroups, resource, unitResource } from './units.ts';

const base = { l4: ['TCP', 'UDP'], form: 'separate', unit: 'listener', maxUnits: 50, addressing: 'ip' } as const;
const clb = { ...base, name: 'clb', title: 'SLB', askedBy: 'the default', l7: ['HTTP', 'HTTPS'] } as const;

/** LB-11: one instance has listeners of all protocols. */
const products: readonly Product[] = [
  {
    ...clb,
    era: '2020-07',
    l7: ['HTTPS'],
    mixed: 'distinctPorts',
    ipMode: 'Proxy',
    unverified: 'TCP and UDP on one number',
  },
  { ...clb, era: 'today', title: 'CLB', mixed: 'samePort', ipMode: 'VIP' },
  {
    ...base,
    name: 'nlb',
    era: 'today',
    title: 'NLB',
    askedBy: 'loadBalancerClass: alibabacloud.com/nlb',
    l7: ['TLS'],
    mixed: 'samePort',
    ipMode: 'VIP',
  },
];

const prefix = 'service.beta.kubernetes.io/alibaba-cloud-loadbalancer';
const nlbClass = 'alibabacloud.com/nlb';

/** Alibaba Cloud: one instance per Service; listeners are free. */
export const alibaba: Cloud = {
  name: 'alibaba',
  title: 'Alibaba',
  products,
  classes: [nlbClass],
  choose: (service, era) => (era === 'today' && service.spec.loadBalancerClass === nlbClass ? 'nlb' : 'clb'),
  isInternal: (service) => annotation(service, `${prefix}-address-type`) === 'intranet',
  // `https:443,udp:53`; entries with the protocol of the port have no effect.
  l7: (service) =>
    new Map(
      listed(service, `${prefix}-protocol-port`).flatMap((item) => {
        const [protocol = '', port = ''] = item.toUpperCase().split(':');
        return ['TCP', 'UDP'].includes(protocol) ? [] : [[Number(port), protocol === 'TCPSSL' ? 'TLS' : protocol]];
      }),
    ),
  resources(request, units) {
    const isNlb = request.product.name === 'nlb';
    const address = request.isInternal ? 'intranet' : 'internet';
    const spec = annotation(request.service, `${prefix}-spec`);
    return [
      resource(isNlb ? 'NetworkLoadBalancer' : 'LoadBalancer', 'instance', { address, ...(spec && { spec }) }),
      backends(request),
      ...backendGroups(isNlb ? 'ServerGroup' : 'VServerGroup', units),
      ...units.map((unit) => {
        const protocol = request.l7.get(unit.ports[0]?.port ?? 0) ?? unit.ports[0]?.protocol ?? 'TCP';
        return unitResource('Listener', unit, { protocol });
      }),
      ...sourceRangeRules(isNlb ? 'SecurityGroup' : 'AccessControlList', request, { always: false }),
    ];
  },
};
