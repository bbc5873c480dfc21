import { annotation } from './annotations.ts';
import type { Product } from './product.ts';
import type { Cloud } from './cloud.ts';
import { backends, resource, unitResource } from './units.ts';

const base = {
  name: 'clb',
  title: 'CLB',
  askedBy: 'the default',
  l4: ['TCP', 'UDP'],
  form: 'separate',
  unit: 'listener',
  maxUnits: 50,
  addressing: 'ip',
} as const;

/** LB-20: TCP, UDP, and HTTP as TCP. */
const products: readonly Product[] = [
  {
    ...base,
    era: '2020-07',
    l7: ['HTTP'],
    mixed: 'distinctPorts',
    ipMode: 'Proxy',
    unverified: 'TCP and UDP on one number',
  },
  {
    ...base,
    era: 'today',
    l7: ['HTTP', 'HTTPS'],
    mixed: 'samePort',
    ipMode: 'VIP',
    unverified: 'TCP and UDP on one number, application protocols',
  },
];

const prefix = 'service.beta.kubernetes.io/tencentcloud-loadbalancer';
const internalSubnet = 'service.kubernetes.io/qcloud-loadbalancer-internal-subnetid';

/** Tencent: listeners are free. Its own controller treats unknown protocols as TCP; this plan refuses them. */
export const tencent: Cloud = {
  name: 'tencent',
  title: 'Tencent',
  products,
  choose: () => 'clb',
  isInternal: (service) =>
    annotation(service, internalSubnet) !== '' || annotation(service, `${prefix}-type`) === 'private',
  resources(request, units) {
    const { service, isInternal } = request;
    const subnet = annotation(service, internalSubnet) || annotation(service, `${prefix}-type-internal-subnet-id`);
    return [
      resource('LoadBalancer', 'instance', {
        type: isInternal ? 'private' : 'public',
        kind: annotation(service, `${prefix}-kind`) || 'application',
        ...(subnet && { subnet }),
      }),
      backends(request),
      // An HTTP port is a TCP listener.
      ...units.map((unit) => unitResource('Listener', unit, { protocol: unit.ports[0]?.protocol ?? 'TCP' })),
    ];
  },
};
