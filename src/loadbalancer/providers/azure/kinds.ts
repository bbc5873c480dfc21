import type { LoadBalancerKind } from '../capability.ts';

const base = {
  l4: ['TCP', 'UDP'],
  l7: [],
  mixed: 'samePort',
  form: 'separate',
  unit: 'rule',
  addressing: 'ip',
  ipMode: 'VIP',
  askedBy: 'the SKU is a setting of the cluster',
} as const;

/** LB-13: rules for each protocol and port, on one load balancer for all Services of a cluster. */
export const kinds: readonly LoadBalancerKind[] = [
  { ...base, name: 'basic', era: 'seed', title: 'Basic', maxUnits: 250 },
  { ...base, name: 'standard', era: 'seed', title: 'Standard', maxUnits: 1500 },
  { ...base, name: 'standard', era: 'today', title: 'Standard', l4: ['TCP', 'UDP', 'SCTP'], maxUnits: 1500 },
];
