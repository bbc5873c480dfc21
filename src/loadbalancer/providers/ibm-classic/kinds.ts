import type { LoadBalancerKind } from '../capability.ts';
import { inBothEras } from '../capability.ts';

/** LB-16: a pair of Pods in the cluster with an address that moves between them. */
export const kinds: readonly LoadBalancerKind[] = inBothEras({
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
