import type { NetworkInterfaceInfo } from 'node:os';
import { hostname, networkInterfaces } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from '../command.ts';
import { UsageError } from '../errors.ts';
import { parseServiceRanges } from '../options/cidr.ts';
import type { Flag } from '../options/flags.ts';
import { readFlag } from '../options/flags.ts';
import { parseAddress, parseClusterName, parsePort } from '../options/values.ts';
import { version } from '../program.ts';
import type { ControlPlane } from '../up/control-plane.ts';
import { runControlPlane } from '../up/control-plane.ts';
import { serverFlags } from '../up/flags.ts';
import { readServerOptions } from '../up/options.ts';
import { readyReport } from '../up/report.ts';

const flags: readonly Flag[] = [
  { name: 'cluster', value: 'NAME', description: 'name of the cluster and its context', default: 'fairlead' },
  { name: 'bind-address', value: 'IP', description: 'address to listen on; 0.0.0.0 for all', default: '127.0.0.1' },
  {
    name: 'advertise-address',
    value: 'IP',
    description: 'address for clients: in kubeconfigs, the certificate and the endpoints of `kubernetes`',
    default: "--bind-address, or this machine's first address if that is 0.0.0.0 or ::",
  },
  { name: 'secure-port', value: 'PORT', description: 'HTTPS port; 0 for any free', default: '6443' },
  {
    name: 'service-cluster-ip-range',
    value: 'CIDR[,CIDR]',
    description: 'range of cluster IPs: one CIDR, or an IPv4,IPv6 pair',
    default: '10.0.0.0/24',
  },
  ...serverFlags,
];

/** `fairlead server`: one API server. */
export const command: Command = {
  description:
    'Run one API server until SIGTERM, for production. The components of the cluster run as separate processes.',
  examples: ['fairlead server --data-dir /var/lib/fairlead --bind-address 0.0.0.0'],
  flags,
  config: { flags },
  async run({ settings, streams }) {
    const host = readFlag(settings, 'bind-address', parseAddress, '127.0.0.1');
    const advertise = readFlag(settings, 'advertise-address', parseReachable, defaultAdvertiseAddress(host));
    const cluster = {
      name: readFlag(settings, 'cluster', parseClusterName, 'fairlead'),
      advertise,
      listen: { host, port: readFlag(settings, 'secure-port', parsePort, 6443) },
      serviceCidrs: readFlag(settings, 'service-cluster-ip-range', parseServiceRanges, ['10.0.0.0/24']),
      loopbackEndpoints: [],
    };
    const server = readServerOptions(settings);
    const options = {
      ...server,
      clusters: [server.etcd?.prefix === undefined ? cluster : { ...cluster, etcdPrefix: server.etcd.prefix }],
      parts: [],
      certificateNames: namesOfMachine(host, advertise),
      portFlag: '--secure-port',
    };
    const prepare = async ({ directory, state, readyMs }: ControlPlane): Promise<string> => {
      const kubeconfig = resolve(directory.at('kubeconfig'));
      return readyReport(state, { version, kubeconfig, readyMs, hasColors: false });
    };
    return runControlPlane(options, { prepare, out: streams.out });
  },
};

/** An address that clients can connect to. */
function parseReachable(text: string): string {
  if (isWildcard(parseAddress(text))) throw new UsageError('clients cannot connect to it: expected one address');
  return text;
}

/** The names of the certificate besides loopback: the advertised address, and all addresses if it listens on all. */
function namesOfMachine(
  host: string,
  advertise: string,
): { readonly dns: readonly string[]; readonly ips: readonly string[] } {
  const listening = isWildcard(host) ? machineAddresses().map(({ address }) => address) : [host];
  const ips = [...new Set([advertise, ...listening])].filter((ip) => ip !== '127.0.0.1' && ip !== '::1');
  return { dns: ips.length > 0 || isWildcard(host) ? [hostname()] : [], ips };
}

const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::';

type Address = Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>;

/** The addresses of this machine that other machines can use, in the order of the system. */
export function machineAddresses(
  all: readonly Address[] = Object.values(networkInterfaces()).flatMap((list) => list ?? []),
): readonly Address[] {
  // A link-local address needs the name of an interface, which URLs and certificates cannot contain.
  return all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
}

/** The address for clients: the one the server listens on or, if it listens on all, the machine's first address. */
export function defaultAdvertiseAddress(bind: string, addresses: readonly Address[] = machineAddresses()): string {
  if (bind === '0.0.0.0') return addresses.find(({ family }) => family === 'IPv4')?.address ?? '127.0.0.1';
  if (bind === '::') return addresses[0]?.address ?? '::1'; // it listens on IPv4 too
  return bind;
}
