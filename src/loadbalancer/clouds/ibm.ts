import type { Service } from '../../api/kinds/core/service/schema.ts';
import { annotation, listed } from './annotations.ts';
import type { Product } from './product.ts';
import { inBothEras } from './product.ts';
import type { Cloud } from './cloud.ts';
import { backendGroups, backends, resource, sourceRangeRules, unitResource } from './units.ts';

const prefix = 'service.kubernetes.io/ibm-load-balancer-cloud-provider';

const isInternal = (service: Service): boolean => annotation(service, `${prefix}-ip-type`) === 'private';

/** LB-16: a pair of Pods in the cluster with a floating address. */
const classicProducts: readonly Product[] = inBothEras({
  name: 'nlb',
  title: 'NLB',
  askedBy: 'the default of classic clusters',
  l4: ['TCP', 'UDP'],
  l7: [],
  mixed: 'samePort',
  form: 'separate',
  unit: 'port',
  addressing: 'ip',
  ipMode: 'VIP',
  unverified: 'TCP and UDP on one number',
});

/** IBM classic infrastructure: ports are free. */
export const ibmClassic: Cloud = {
  name: 'ibm-classic',
  title: 'IBM classic',
  products: classicProducts,
  choose: () => 'nlb',
  isInternal,
  resources: (request, units) => [
    resource('PortableAddress', 'address', { type: request.isInternal ? 'private' : 'public' }),
    resource('KeepalivedPods', 'pair', {
      replicas: '2',
      scheduler: annotation(request.service, `${prefix}-ipvs-scheduler`) || 'rr',
    }),
    backends(request),
    ...units.map((unit) => unitResource('Port', unit)),
    ...sourceRangeRules('NetworkPolicy', request, { always: false }),
  ],
};

const vpcBase = {
  form: 'separate',
  unit: 'listener',
  maxUnits: 10,
  needsNodePorts: true,
} as const;

/** LB-17: only TCP in 2020; the network load balancer supports UDP today. */
const vpcProducts: readonly Product[] = [
  ...inBothEras({
    ...vpcBase,
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
    ...vpcBase,
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

/** IBM VPC: one load balancer per Service; listeners require node ports. */
export const ibmVpc: Cloud = {
  name: 'ibm-vpc',
  title: 'IBM VPC',
  products: vpcProducts,
  choose: (service, era) =>
    era === 'today' && listed(service, `${prefix}-enable-features`).includes('nlb') ? 'nlb' : 'alb',
  isInternal,
  resources: (request, units) => [
    resource('LoadBalancer', 'instance', {
      type: request.isInternal ? 'private' : 'public',
      // A network load balancer is in one zone.
      ...(request.product.name === 'nlb' && { zone: annotation(request.service, `${prefix}-zone`) || 'any' }),
    }),
    ...backendGroups('Pool', units),
    backends(request),
    ...units.map((unit) => unitResource('Listener', unit)),
    ...sourceRangeRules('SecurityGroup', request),
  ],
};
