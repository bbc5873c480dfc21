import type { LoadBalancerKind } from '../capability.ts';
import { inBothEras } from '../capability.ts';

const base = {
  form: 'separate',
  unit: 'listener',
  maxUnits: 10,
  needsNodePorts: true,
} as const;

/** LB-17: TCP only in 2020; a network load balancer takes UDP today. */
export const kinds: readonly LoadBalancerKind[] = [
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
