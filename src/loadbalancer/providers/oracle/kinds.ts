import type { LoadBalancerKind } from '../capability.ts';
import { inBothEras } from '../capability.ts';

const type = 'oci.oraclecloud.com/load-balancer-type';

/** LB-19: TCP and HTTP; UDP came with the network load balancer, which makes one listener of both. */
export const kinds: readonly LoadBalancerKind[] = [
  ...inBothEras({
    name: 'lb',
    title: 'load balancer',
    askedBy: 'the default',
    l4: ['TCP'],
    l7: ['HTTP', 'HTTPS', 'GRPC'],
    mixed: 'none',
    form: 'separate',
    unit: 'listener',
    maxUnits: 16,
    addressing: 'ip',
    ipMode: 'Proxy',
  }),
  {
    name: 'nlb',
    era: 'today',
    title: 'network load balancer',
    askedBy: `${type}: nlb`,
    l4: ['TCP', 'UDP'],
    l7: [],
    mixed: 'samePort',
    form: 'merged',
    unit: 'listener',
    maxUnits: 50,
    addressing: 'ip',
    ipMode: 'VIP',
  },
];
