import type { LoadBalancerKind } from '../capability.ts';

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

/** LB-20: TCP, UDP, and HTTP that becomes TCP. */
export const kinds: readonly LoadBalancerKind[] = [
  {
    ...base,
    era: 'seed',
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
