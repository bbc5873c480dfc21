import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../errors.ts';
import { version } from '../program.ts';
import { addFlags, readFlag, readSettings } from '../options/flags.ts';
import { parseServiceRanges } from '../options/cidr.ts';
import { parseClusterName } from '../options/cluster-name.ts';
import { parsePort } from '../options/ports.ts';
import type { Flag } from '../settings.ts';
import type { Streams } from '../output.ts';
import { defaultAdvertiseAddress, machineAddresses } from '../up/advertise.ts';
import type { ControlPlane } from '../up/control-plane.ts';
import { runControlPlane } from '../up/control-plane.ts';
import { serverFlags } from '../up/flags.ts';
import { readServerOptions } from '../up/options.ts';
import { readyReport } from '../up/report.ts';

const flags: readonly Flag[] = [
  { name: 'cluster', value: 'NAME', description: 'name of the cluster and its context', default: 'fairlead' },
  { name: 'bind-address', value: 'IP', description: 'where to listen; 0.0.0.0 for all', default: '127.0.0.1' },
  {
    name: 'advertise-address',
    value: 'IP',
    description: 'where clients find it: in kubeconfigs, the certificate and the endpoints of `kubernetes`',
    default: "--bind-address, or this machine's first address if that is 0.0.0.0 or ::",
  },
  { name: 'secure-port', value: 'PORT', description: 'HTTPS port; 0: any free', default: '6443' },
  {
    name: 'service-cluster-ip-range',
    value: 'CIDR[,CIDR]',
    description: 'cluster IPs, one CIDR or an IPv4,IPv6 pair',
    default: '10.0.0.0/24',
  },
  ...serverFlags,
];

export function define(command: Command): void {
  addFlags(command, flags);
  command
    .description('Run one API server, as a production part.')
    .addHelpText('before', 'Example:\n  fairlead server --data-dir /var/lib/fairlead --bind-address 0.0.0.0\n');
}

export async function execute(command: Command, { out }: Streams): Promise<number> {
  const settings = await readSettings(command, flags);
  const host = readFlag(settings, 'bind-address', parseAddress, '127.0.0.1');
  const advertise = readFlag(settings, 'advertise-address', parseReachable, defaultAdvertiseAddress(host));
  const cluster = {
    name: readFlag(settings, 'cluster', parseClusterName, 'fairlead'),
    advertise,
    listen: { host, port: readFlag(settings, 'secure-port', parsePort, 6443) },
    serviceCidrs: readFlag(settings, 'service-cluster-ip-range', parseServiceRanges, ['10.0.0.0/24']),
    loopbackEndpoints: [],
  };
  const options = {
    ...readServerOptions(settings),
    clusters: [cluster],
    parts: [],
    certificateNames: namesOfMachine(host, advertise),
    portFlag: '--secure-port',
  };
  const prepare = ({ directory, state, readyMs }: ControlPlane): Promise<string> => {
    const kubeconfig = resolve(directory.at('kubeconfig'));
    return Promise.resolve(readyReport(state, { version, kubeconfig, readyMs, colour: false }));
  };
  return runControlPlane(options, { prepare, out });
}

function parseAddress(text: string): string {
  if (isIP(text) === 0) throw new UsageError('expected an IP address, such as 0.0.0.0');
  return text;
}

/** An address that can stand in a URL. */
function parseReachable(text: string): string {
  if (isWildcard(parseAddress(text))) throw new UsageError('clients cannot connect to it: expected one address');
  return text;
}

/** What the certificate must name beyond loopback: where clients find it, and all addresses if it listens on all. */
function namesOfMachine(
  host: string,
  advertise: string,
): { readonly dns: readonly string[]; readonly ips: readonly string[] } {
  const listening = isWildcard(host) ? machineAddresses().map(({ address }) => address) : [host];
  const ips = [...new Set([advertise, ...listening])].filter((ip) => ip !== '127.0.0.1' && ip !== '::1');
  return { dns: ips.length > 0 || isWildcard(host) ? [hostname()] : [], ips };
}

const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::';
