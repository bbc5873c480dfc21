import type { Flag } from '../settings.ts';

const yes = { value: 'true|false', bare: 'true', default: 'false' } as const;

/** The flags of `fairlead proxy`, spelled as kube-proxy's where it has them. */
export const proxyFlags: readonly Flag[] = [
  {
    name: 'proxy-mode',
    value: 'MODE',
    description: 'nftables: rules of the kernel, needs root; userspace: listeners at the virtual addresses',
    default: 'nftables',
  },
  { name: 'hostname-override', value: 'NAME', description: 'the Node this is', default: "the machine's name" },
  {
    name: 'nodeport-addresses',
    value: 'CIDR,…',
    description: 'where node ports are served: ranges of addresses of this machine, primary, localhost, all',
    default: 'primary',
  },
  { name: 'cluster-cidr', value: 'CIDR,…', description: 'addresses of Pods; by default what the Node says' },
  { name: 'service-cidr', value: 'CIDR,…', description: 'virtual addresses, beside those of ServiceCIDR objects' },
  {
    name: 'nftables-table',
    value: 'NAME',
    description: 'the table that holds the rules; of two proxies on one machine each needs its own',
    default: 'fairlead-proxy',
  },
  { name: 'masquerade-all', ...yes, description: 'replace the source of everything sent to a cluster IP (nftables)' },
  {
    name: 'lb-port-gate',
    value: 'status|ignore',
    description: 'what becomes of ports that a load balancer could not open: nothing, or all as in kube-proxy',
    default: 'status',
  },
  { name: 'cluster-id', value: 'ID', description: 'which cluster of a set this is' },
  { name: 'min-sync-period', value: 'DURATION', description: 'the least time between two syncs', default: '100ms' },
  { name: 'sync-period', value: 'DURATION', description: 'how often everything is made again', default: '1h' },
  { name: 'healthz-bind-address', value: 'ADDR:PORT', description: 'where /healthz is', default: '0.0.0.0:10256' },
  { name: 'metrics-bind-address', value: 'ADDR:PORT', description: 'where /metrics is', default: '127.0.0.1:10249' },
  { name: 'threads', value: 'N', description: 'threads that relay connections (userspace)', default: '1' },
  {
    name: 'max-connections',
    value: 'N',
    description: 'connections at once (userspace); by default 20000, or what `ulimit -n` allows',
  },
  { name: 'udp-timeout', value: 'DURATION', description: 'how long a UDP flow may be idle (userspace)', default: '1m' },
  {
    name: 'drain-time',
    value: 'DURATION',
    description: 'how long connections may go on after a signal to stop (userspace)',
    default: '1s',
  },
];

/** What only actions read. */
export const outputFlag: Flag = {
  name: 'output',
  value: 'FORMAT',
  description: 'of `routes`: json or yaml, for programs',
};
