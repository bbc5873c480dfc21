import type { LoadBalancerKind } from '../capability.ts';

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

/** LB-15: one forwarding rule for each protocol until one for everything came. */
export const kinds: readonly LoadBalancerKind[] = [
  { ...base, name: 'netlb', era: 'seed', title: 'network load balancer', askedBy: 'the default', mixed: 'none' },
  { ...base, name: 'ilb', era: 'seed', title: 'internal load balancer', askedBy: internal, mixed: 'none' },
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
