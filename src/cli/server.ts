import { hostname, networkInterfaces } from 'node:os';
import { isIP } from 'node:net';
import type { Command } from 'commander';
import { UsageError } from './errors.ts';
import { version } from './program.ts';
import { addFlags, readFlag, readSettings } from './flags.ts';
import { parseServiceRanges } from './options/cidr.ts';
import { parseClusterName } from './options/cluster-name.ts';
import { parsePort } from './options/ports.ts';
import type { Flag } from './settings.ts';
import type { Streams } from './output.ts';
import { runControlPlane } from './up/control-plane.ts';
import { serverFlags } from './up/flags.ts';
import { readServerOptions } from './up/options.ts';
import { readyReport } from './up/report.ts';

const flags: readonly Flag[] = [
  { name: 'cluster', value: 'NAME', description: 'name of the cluster and its context', default: 'fairlead' },
  { name: 'bind-address', value: 'IP', description: 'where to listen; 0.0.0.0 for all', default: '127.0.0.1' },
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
  const cluster = {
    name: readFlag(settings, 'cluster', parseClusterName, 'fairlead'),
    listen: { host, port: readFlag(settings, 'secure-port', parsePort, 6443) },
    serviceCidrs: readFlag(settings, 'service-cluster-ip-range', parseServiceRanges, ['10.0.0.0/24']),
    loopbackEndpoints: [],
  };
  const options = {
    ...readServerOptions(settings),
    clusters: [cluster],
    certificateNames: namesOfMachine(host),
    portFlag: '--secure-port',
  };
  return runControlPlane(options, async ({ directory, state, readyMs }) => {
    const kubeconfig = directory.at('kubeconfig');
    out(readyReport(state, { version, kubeconfig, readyMs, colour: false }));
  });
}

function parseAddress(text: string): string {
  if (isIP(text) === 0) throw new UsageError('expected an IP address, such as 0.0.0.0');
  return text;
}

/** What the certificate must name for clients on other machines: the address, or all addresses if it listens on all. */
function namesOfMachine(host: string): { readonly dns: readonly string[]; readonly ips: readonly string[] } {
  if (host === '127.0.0.1' || host === '::1') return { dns: [], ips: [] };
  if (host !== '0.0.0.0' && host !== '::') return { dns: [hostname()], ips: [host] };
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const ips = addresses.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  return { dns: [hostname()], ips: ips.map(({ address }) => address) };
}
