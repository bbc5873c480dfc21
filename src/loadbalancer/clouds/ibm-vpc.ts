import { annotation, listed } from './annotations.ts';
import type { Product } from './product.ts';
import { inBothEras } from './product.ts';
import type { Cloud } from './cloud.ts';
import { admission, backends, besideUnits, resource, unitResource } from './units.ts';

const base = {
  form: 'separate',
  unit: 'listener',
  maxUnits: 10,
  needsNodePorts: true,
} as const;

/** LB-17: TCP only in 2020; a network load balancer takes UDP today. */
const products: readonly Product[] = [
  ...inBothEras({
    ...base,
    name: 'alb',
    title: 'ALB',
    askedBy: 'the default of VPC clusters',
    l4: ['TCP'],
    l7: ['HTTP'],
    mixed: 'none',
    addressing: 'hostname',
    ipMode: 'Proxy',
  }),
  {
    ...base,
    name: 'nlb',
    era: 'today',
    title: 'NLB',
    askedBy: 'service.kubernetes.io/ibm-load-balancer-cloud-provider-enable-features: nlb',
    l4: ['TCP', 'UDP'],
    l7: [],
    mixed: 'samePort',
    addressing: 'ip',
    ipMode: 'VIP',
    unverified: 'TCP and UDP on one number',
  },
];

const prefix = 'service.kubernetes.io/ibm-load-balancer-cloud-provider';

/** IBM VPC: a load balancer for each Service, whose listeners need node ports. */
export const ibmVpc: Cloud = {
  name: 'ibm-vpc',
  title: 'IBM VPC',
  products,
  choose: (service, era) =>
    era === 'today' && listed(service, `${prefix}-enable-features`).includes('nlb') ? 'nlb' : 'alb',
  isInternal: (service) => annotation(service, `${prefix}-ip-type`) === 'private',
  resources: (request, units) => [
    resource('LoadBalancer', 'instance', {
      type: request.isInternal ? 'private' : 'public',
      // A network load balancer lives in one zone.
      ...(request.product.name === 'nlb' && { zone: annotation(request.service, `${prefix}-zone`) || 'any' }),
    }),
    ...besideUnits('Pool', units),
    backends(request),
    ...units.map((unit) => unitResource('Listener', unit)),
    ...admission('SecurityGroup', request),
  ],
};
