import type { LoadBalancerKind } from '../capability.ts';

const type = 'service.beta.kubernetes.io/do-loadbalancer-type';
const base = { form: 'separate', unit: 'forwarding rule', needsTcp: true, addressing: 'ip' } as const;
const regional = { ...base, name: 'regional', askedBy: 'the default', ipMode: 'Proxy' } as const;

/** LB-14: TCP alone in 2020; UDP today, beside at least one TCP port. */
export const kinds: readonly LoadBalancerKind[] = [
  {
    ...regional,
    era: 'seed',
    title: 'load balancer',
    l4: ['TCP'],
    l7: ['HTTP', 'HTTPS', 'HTTP2'],
    mixed: 'none',
  },
  {
    ...regional,
    era: 'today',
    title: 'load balancer',
    l4: ['TCP', 'UDP'],
    l7: ['HTTP', 'HTTPS', 'HTTP2', 'HTTP3'],
    mixed: 'samePort',
  },
  {
    ...base,
    name: 'regional-network',
    era: 'today',
    title: 'network load balancer',
    askedBy: `${type}: REGIONAL_NETWORK`,
    l4: ['TCP', 'UDP'],
    l7: [],
    mixed: 'samePort',
    ipMode: 'VIP',
  },
];
