// The files of a Pod by which its processes resolve names: resolv.conf and hosts. No clock, no I/O.
import type { Pod } from '../../api/kinds/core/pod/schema.ts';

export interface NameOptions {
  readonly podIps: readonly string[];
  /** The DNS servers of the cluster; empty: the resolver of the machine is used. */
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The resolv.conf of the machine. */
  readonly machineResolver: string;
  /** The hosts file of the machine, for Pods that share its network. */
  readonly machineHosts: string;
}

/** The limits of the kubelet for resolv.conf. */
const maxSearchDomains = 32;
const maxSearchLength = 2048;
const maxServers = 3;

interface Resolver {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** The resolv.conf of a Pod, as its dnsPolicy and dnsConfig demand. */
export function resolverFile(pod: Pod, names: NameOptions): string {
  const { dnsConfig = {} } = pod.spec;
  const base = baseOf(pod, names);
  const options = new Map(base.options.map((option) => [option.split(':', 1)[0] ?? '', option]));
  for (const { name = '', value } of dnsConfig.options ?? [])
    options.set(name, value === undefined || value === '' ? name : `${name}:${value}`);
  const searches = [...new Set([...base.searches, ...(dnsConfig.searches ?? [])])].slice(0, maxSearchDomains);
  while (searches.join(' ').length > maxSearchLength) searches.pop();
  const servers = [...new Set([...base.servers, ...(dnsConfig.nameservers ?? [])])].slice(0, maxServers);
  return [
    ...(searches.length === 0 ? [] : [`search ${searches.join(' ')}`]),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.size === 0 ? [] : [`options ${[...options.values()].join(' ')}`]),
    '',
  ].join('\n');
}

function baseOf({ metadata, spec }: Pod, { clusterDns, clusterDomain, machineResolver }: NameOptions): Resolver {
  const { dnsPolicy = 'ClusterFirst', hostNetwork = false } = spec;
  if (dnsPolicy === 'None') return { servers: [], searches: [], options: [] };
  const machine = parseResolver(machineResolver);
  const usesCluster = dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && !hostNetwork);
  if (!usesCluster || clusterDns.length === 0) return machine;
  const own = [`${metadata.namespace ?? ''}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { servers: clusterDns, searches: [...own, ...machine.searches], options: ['ndots:5'] };
}

function parseResolver(text: string): Resolver {
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/));
  const wordsOf = (key: string): readonly (readonly string[])[] =>
    lines.flatMap(([first, ...words]) => (first === key ? [words] : []));
  return {
    servers: wordsOf('nameserver').flatMap(([server = '']) => (server === '' ? [] : [server])),
    searches: wordsOf('search').at(-1) ?? [],
    options: wordsOf('options').flat(),
  };
}

/** The host name of a Pod. */
export const hostnameOf = ({ metadata, spec }: Pod): string => (spec.hostname ?? metadata.name ?? '').slice(0, 63);

/** The hosts file of a Pod. */
export function hostsFile(pod: Pod, { podIps, clusterDomain, machineHosts }: NameOptions): string {
  const { hostAliases = [], hostNetwork = false, subdomain = '' } = pod.spec;
  const hostname = hostnameOf(pod);
  const namespace = pod.metadata.namespace ?? '';
  const qualified = subdomain === '' ? [] : [`${hostname}.${subdomain}.${namespace}.svc.${clusterDomain}`];
  const own = hostNetwork
    ? ['# Kubernetes-managed hosts file (host network).', machineHosts.trimEnd()]
    : [
        '# Kubernetes-managed hosts file.',
        '127.0.0.1\tlocalhost',
        '::1\tlocalhost ip6-localhost ip6-loopback',
        'fe00::0\tip6-localnet',
        'fe00::0\tip6-mcastprefix',
        'fe00::1\tip6-allnodes',
        'fe00::2\tip6-allrouters',
        ...podIps.map((ip) => [ip, ...qualified, hostname].join('\t')),
      ];
  const aliases = hostAliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join('\t'));
  return [...own, ...(aliases.length === 0 ? [] : ['', '# Entries added by HostAliases.', ...aliases]), ''].join('\n');
}
