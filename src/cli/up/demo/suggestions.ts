// The commands that `fairlead up --demo` suggests.
import type { ClusterState } from '../state.ts';
import { demoNamespace, ports } from './objects.ts';

/** The addresses of the demo in one cluster; missing ones are undefined. */
export interface Found {
  readonly dns: ClusterState['dns'];
  readonly shop: string | undefined;
  /** The import of shop. */
  readonly everywhere: string | undefined;
  readonly digits: string | undefined;
  readonly names: string | undefined;
  readonly sip: string | undefined;
}

interface Story {
  readonly title: string;
  readonly commands: (clusters: readonly [Found, ...Found[]]) => readonly (string | undefined)[];
}

const curl = (address: string | undefined): string | undefined => address && `curl http://${address}:${ports.http}/`;
const dig = ({ dns }: Found, what: string): string | undefined =>
  dns && `dig @${dns.address} -p ${dns.port} +short ${what}`;
const named = (name: string): string => `${name}.${demoNamespace}.svc.cluster.local`;

const stories: readonly Story[] = [
  {
    title: 'shop of each cluster: one of two Pods answers',
    commands: (clusters) => clusters.map(({ shop }) => curl(shop)),
  },
  {
    title: 'shop of all clusters, at an address in each (KEP-1645)',
    commands: (clusters) => clusters.map(({ everywhere }) => curl(everywhere)),
  },
  {
    title: 'one SRV name, two protocols (KEP-3241)',
    commands: ([first]) => ['tcp', 'udp'].map((protocol) => dig(first, `SRV ${named(`_kerberos._${protocol}.idm`)}`)),
  },
  {
    title: 'a Service named 2048 (KEP-5311)',
    commands: ([first]) => [curl(first.digits), first.digits && dig(first, named('2048'))],
  },
  {
    title: 'load balancers that take UDP and TCP on one port (KEP-1435)',
    commands: ([{ names, sip }]) => [
      names && `dig @${names} -p ${ports.dns} +short TXT whoami`,
      names && `dig @${names} -p ${ports.dns} +short +tcp TXT whoami`,
      sip && `curl telnet://${sip}:${ports.sip} </dev/null`,
    ],
  },
  {
    title: 'old-shop, another name of shop (ExternalName)',
    commands: ([first]) => [dig(first, named('old-shop'))],
  },
];

/** The suggestions as printed: a title and its commands for each story. */
export function printTries([first, ...others]: readonly Found[]): string {
  if (first === undefined) return '';
  const lines = stories.flatMap(({ title, commands }) => {
    const known = commands([first, ...others]).filter((command) => command !== undefined);
    return known.length === 0 ? [] : [`    # ${title}`, ...known.map((command) => `    ${command}`)];
  });
  return ['  try', ...lines, ''].join('\n');
}
