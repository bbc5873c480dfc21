// How the parts run in Pods: their flags, ports and probes.
import { peerPort } from '../../api/kinds/multicluster/gateway.ts';
import type { InstalledPart } from './values.ts';

/** A port of a container. */
interface Port {
  readonly name: string;
  readonly port: number;
  readonly protocol?: 'UDP';
}

/** How a part runs in a Pod. */
interface Workload {
  /** Flags besides those of the values. */
  readonly flags: readonly string[];
  readonly ports: readonly Port[];
  /** Paths and names of the ports of the probes. */
  readonly live: readonly [path: string, port: string];
  readonly ready: readonly [path: string, port: string];
  /** The port with /metrics. */
  readonly metrics: string;
  /** Fields of the specification of Pods. */
  readonly pod?: Readonly<Record<string, unknown>>;
}

/** The port of health and metrics of a part that has one for both. */
const healthPort = (
  port: number,
  others: readonly Port[] = [],
): Pick<Workload, 'ports' | 'live' | 'ready' | 'metrics'> => ({
  ports: [...others, { name: 'health', port }],
  live: ['/livez', 'health'],
  ready: ['/readyz', 'health'],
  metrics: 'health',
});

const elected = ['--bind-address=0.0.0.0', '--leader-elect-resource-namespace=%n'];

/** Where the Secret of the gateway is mounted. */
export const tlsDirectory = '/etc/fairlead/tls';

/** How each part runs. */
export const workloads: Readonly<Record<InstalledPart, Workload>> = {
  dns: {
    flags: ['--listen=:1053', '--coredns-ports'],
    ports: [
      { name: 'dns', port: 1053, protocol: 'UDP' },
      { name: 'dns-tcp', port: 1053 },
      { name: 'health', port: 8080 },
      { name: 'ready', port: 8181 },
      { name: 'metrics', port: 9153 },
    ],
    live: ['/health', 'health'],
    ready: ['/ready', 'ready'],
    metrics: 'metrics',
    // The resolvers of the node are the upstreams.
    pod: { priorityClassName: 'system-cluster-critical', dnsPolicy: 'Default' },
  },
  multicluster: { flags: ['--member-namespace=%n', ...elected], ...healthPort(10_358) },
  reaper: { flags: ['--bind-address=0.0.0.0'], ...healthPort(10_359) },
  controllers: { flags: elected, ...healthPort(10_357) },
  loadbalancer: { flags: elected, ...healthPort(10_360) },
  gateway: {
    flags: [
      '--bind-address=0.0.0.0',
      `--tls-cert-file=${tlsDirectory}/tls.crt`,
      `--tls-private-key-file=${tlsDirectory}/tls.key`,
      `--ca-file=${tlsDirectory}/ca.crt`,
    ],
    ...healthPort(10_364, [{ name: peerPort.name, port: peerPort.number }]),
  },
  proxy: {
    flags: ['--hostname-override=$(NODE_NAME)', '--metrics-bind-address=0.0.0.0:10249'],
    ports: [
      { name: 'health', port: 10_256 },
      { name: 'metrics', port: 10_249 },
    ],
    live: ['/livez', 'health'],
    ready: ['/healthz', 'health'],
    metrics: 'metrics',
    pod: { priorityClassName: 'system-node-critical', hostNetwork: true },
  },
};
