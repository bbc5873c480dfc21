import type { LoadBalancerKind } from '../capability.ts';

const base = {
  form: 'separate',
  unit: 'listener',
  addressing: 'ip',
  ipMode: 'Proxy',
  title: 'Octavia',
  l7: ['HTTP', 'TERMINATED_HTTPS'],
} as const;

/** LB-18: a listener for each protocol and port; on one number only since Octavia 5.0.0. */
export const kinds: readonly LoadBalancerKind[] = [
  {
    ...base,
    name: 'octavia-4',
    era: 'seed',
    title: 'Octavia before 5.0.0',
    askedBy: 'the version of the cloud',
    l4: ['TCP', 'UDP'],
    mixed: 'distinctPorts',
  },
  { ...base, name: 'octavia', era: 'seed', askedBy: 'the default', l4: ['TCP', 'UDP'], mixed: 'samePort' },
  {
    ...base,
    name: 'octavia',
    era: 'today',
    askedBy: 'the default',
    l4: ['TCP', 'UDP', 'SCTP'],
    mixed: 'samePort',
    unverified: 'SCTP depends on the driver',
  },
  {
    ...base,
    name: 'ovn',
    era: 'today',
    title: 'Octavia with OVN',
    askedBy: 'lb-provider of the cluster',
    l4: ['TCP', 'UDP', 'SCTP'],
    l7: [],
    mixed: 'samePort',
    ipMode: 'VIP',
  },
];
