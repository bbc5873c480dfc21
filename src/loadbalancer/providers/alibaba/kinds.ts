import type { LoadBalancerKind } from '../capability.ts';

const base = { l4: ['TCP', 'UDP'], form: 'separate', unit: 'listener', maxUnits: 50, addressing: 'ip' } as const;
const clb = { ...base, name: 'clb', title: 'SLB', askedBy: 'the default', l7: ['HTTP', 'HTTPS'] } as const;

/** LB-11: listeners of all protocols on one instance. */
export const kinds: readonly LoadBalancerKind[] = [
  {
    ...clb,
    era: 'seed',
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
