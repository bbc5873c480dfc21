import type { LoadBalancerKind } from '../capability.ts';
import { inBothEras } from '../capability.ts';

const base = { unit: 'listener', addressing: 'hostname', ipMode: 'Proxy' } as const;
const type = 'service.beta.kubernetes.io/aws-load-balancer-type';
const nlb = {
  ...base,
  title: 'NLB',
  l4: ['TCP', 'UDP'],
  l7: ['TLS'],
  form: 'separate',
  maxUnits: 50,
} as const;

/** The annotation by which the AWS load balancer controller makes one listener of TCP and UDP on one number. */
export const tcpUdpListener = 'service.beta.kubernetes.io/aws-load-balancer-enable-tcp-udp-listener';

/** LB-12: ELB takes TCP only; NLB mixed in 2020, its cloud controller no longer does, and another controller does. */
export const kinds: readonly LoadBalancerKind[] = [
  ...inBothEras({
    ...base,
    name: 'clb',
    title: 'ELB',
    askedBy: 'the default',
    l4: ['TCP'],
    l7: ['TLS', 'HTTP', 'HTTPS'],
    mixed: 'none',
    form: 'separate',
    maxUnits: 100,
  }),
  { ...nlb, name: 'nlb', era: 'seed', askedBy: `${type}: nlb`, mixed: 'distinctPorts' },
  { ...nlb, name: 'nlb', era: 'today', askedBy: `${type}: nlb`, mixed: 'none' },
  {
    ...nlb,
    name: 'nlb-lbc',
    era: 'today',
    title: 'NLB (load balancer controller)',
    askedBy: `${type}: external, or loadBalancerClass: service.k8s.aws/nlb`,
    l7: ['TLS', 'QUIC'],
    mixed: 'samePort',
    form: 'merged',
    samePortOptIn: tcpUdpListener,
  },
];
