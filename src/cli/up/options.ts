import type { AdmissionPlugins } from '../../server/admission/plugins.ts';
import type { AuditOptions } from '../../server/audit/options.ts';
import type { LimitOptions } from '../../server/limits/options.ts';
import { UsageError } from '../errors.ts';
import { overlap, parseServiceRanges } from '../options/cidr.ts';
import type { GateSettings } from '../options/feature-gates.ts';
import { readFeatureGates } from '../options/feature-gates.ts';
import type { Settings } from '../options/flags.ts';
import { flagError, readFlag, readFlags, sectionOf, textOf } from '../options/flags.ts';
import type { PortRange } from '../options/values.ts';
import {
  countBetween,
  nonEmpty,
  oneOf,
  parseBoolean,
  parseClusterName,
  parsePort,
  parsePortRange,
  splitTarget,
} from '../options/values.ts';
import type { PartEntry, PartName } from '../parts.ts';
import { partNames, parts as registered } from '../parts.ts';
import type { LogOptions } from '../process/log.ts';
import { readLogOptions } from '../process/log.ts';
import { readAdmissionPlugins } from './admission-plugins.ts';
import type { EncryptionOptions } from './encryption.ts';
import { readEncryption } from './encryption.ts';
import type { EtcdOptions } from './etcd.ts';
import { readEtcd } from './etcd.ts';
import type { NodeOptions } from './node-flags.ts';
import { readNodeOptions } from './node-flags.ts';
import { readAudit, readLimits } from './limit-flags.ts';
import { defaultDataDir } from './stored-clusters.ts';
import { defaultRanges, loopbackEndpoints, maxClusters } from './ranges.ts';

/** One API server of a control plane. */
export interface ClusterOptions {
  readonly name: string;
  readonly listen: { readonly host: string; readonly port: number };
  /** The address for clients; default: the one it listens on. */
  readonly advertise?: string;
  /** The address of its DNS server, if it has one. */
  readonly dns?: { readonly address: string; readonly port: number };
  /** The ports of the dashboard; the first free one is used. */
  readonly dashboardPorts?: readonly number[];
  readonly serviceCidrs: readonly string[];
  /** The range of its supercluster IPs, if it is in a set. */
  readonly superclusterCidrs?: readonly string[];
  /** The prefix of its keys, if its store is etcd. */
  readonly etcdPrefix?: string;
  /** Loopback ranges that endpoints may use; none in production. */
  readonly loopbackEndpoints: readonly string[];
}

export const storeKinds = ['sqlite', 'memory', 'etcd'] as const;
export type StoreKind = (typeof storeKinds)[number];

export const proxyModes = ['userspace', 'nftables', 'none'] as const;

/** The options of every command that runs API servers. */
export interface ServerOptions {
  readonly dataDir: string;
  readonly store: StoreKind;
  /** Set if the store is etcd. */
  readonly etcd: EtcdOptions | undefined;
  /** Bytes a store may hold; undefined: the default. */
  readonly quotaBytes: number | undefined;
  readonly acceptDataLoss: boolean;
  readonly nodePorts: PortRange;
  readonly tokenFile: string | undefined;
  readonly issuer: string | undefined;
  readonly admissionPlugins: AdmissionPlugins;
  readonly encryption: EncryptionOptions | undefined;
  readonly nodes: NodeOptions;
  readonly limits: Partial<LimitOptions>;
  readonly audit: AuditOptions | undefined;
  readonly gates: GateSettings;
  readonly log: LogOptions;
}

export interface UpOptions extends ServerOptions {
  /** Part → its section of the configuration file. */
  readonly partSettings: ReadonlyMap<string, Settings>;
  readonly clusters: readonly ClusterOptions[];
  readonly parts: ReadonlySet<PartName>;
  /** Creates the Services and Pods of the demo. */
  readonly demo: boolean;
  readonly proxy: (typeof proxyModes)[number];
  /** Manifests to apply; `cluster` undefined: to all. */
  readonly apply: readonly { readonly path: string; readonly cluster: string | undefined }[];
}

const host = '127.0.0.1';

/** Room for the objects of a new cluster, and some objects of the largest size. */
const minQuotaBytes = 16 * 1024 * 1024;

/** Reads the flags of every command with an API server. */
export function readServerOptions(settings: Settings): ServerOptions {
  const store = readFlag(settings, 'store', oneOf(storeKinds), 'sqlite');
  return {
    dataDir: readFlag(settings, 'data-dir', parsePath, defaultDataDir),
    store,
    etcd: readEtcd(settings, store),
    quotaBytes: readFlag<number | undefined>(settings, 'quota-backend-bytes', countBetween(minQuotaBytes), undefined),
    acceptDataLoss: readFlag(settings, 'accept-data-loss', parseBoolean, false),
    nodePorts: readFlag(settings, 'service-node-port-range', parsePortRange, { from: 30000, to: 32767 }),
    tokenFile: readFlag<string | undefined>(settings, 'token-auth-file', parsePath, undefined),
    issuer: readFlag<string | undefined>(settings, 'service-account-issuer', parseIssuer, undefined),
    admissionPlugins: readAdmissionPlugins(settings),
    encryption: readEncryption(settings),
    nodes: readNodeOptions(settings),
    limits: readLimits(settings),
    audit: readAudit(settings),
    gates: readFeatureGates(settings),
    log: readLogOptions(settings, 'warn'),
  };
}

/** Reads the flags of `up`. */
export function readUpOptions(settings: Settings): UpOptions {
  const names = clusterNames(settings);
  const parts = readFlag(settings, 'parts', parseParts, defaultParts(settings));
  const demo = readFlag(settings, 'demo', parseBoolean, false);
  const missing = (['controllers', 'agent'] as const).filter((name) => demo && !parts.has(name));
  if (missing.length > 0)
    throw new UsageError(
      `--demo needs the component ${missing.map((name) => `"${name}"`).join(' and ')}, to create and run its Pods: add it to --parts, or leave out --demo`,
    );
  const proxy = readFlag(settings, 'proxy', oneOf(proxyModes), 'userspace');
  return {
    ...readServerOptions(settings),
    partSettings: new Map(partNames.map((name) => [name, partSection(name, settings, proxy)])),
    clusters: clusterOptions(names, settings),
    parts: proxy === 'none' ? parts.difference(new Set<PartName>(['proxy'])) : parts,
    proxy,
    demo,
    apply: readFlags(settings, 'apply', (text) => {
      const { value, cluster } = splitTarget(text, names);
      return { path: parsePath(value), cluster };
    }),
  };
}

/** All parts, except those that have no use without a section of the configuration file. */
function defaultParts(settings: Settings): ReadonlySet<PartName> {
  const entries: Readonly<Partial<Record<PartName, PartEntry>>> = registered;
  const isUsed = (name: PartName): boolean =>
    entries[name]?.isOnlyConfigured !== true || sectionOf(settings, name).size > 0;
  return new Set(partNames.filter(isUsed));
}

/** The section of a part; for the proxy with `--proxy`, which takes precedence over the file. */
function partSection(name: PartName, settings: Settings, proxy: UpOptions['proxy']): Settings {
  const section = sectionOf(settings, name);
  if (name !== 'proxy' || proxy === 'none' || (section.has('proxy-mode') && !settings.has('proxy'))) return section;
  return new Map([...section, ['proxy-mode', [proxy]]]);
}

function clusterNames(settings: Settings): readonly string[] {
  const names = settings.has('cluster') ? readFlags(settings, 'cluster', parseClusterName) : ['east', 'west'];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new UsageError(`cluster "${twice}" is given twice: every --cluster needs its own name`);
  if (names.length === 0) throw new UsageError('no cluster is given: name one with --cluster');
  if (names.length > maxClusters)
    throw new UsageError(`${names.length} clusters are given: the maximum is ${maxClusters}`);
  return names;
}

function clusterOptions(names: readonly string[], settings: Settings): readonly ClusterOptions[] {
  const ports = readFlag(settings, 'port-base', parsePortBase, defaultPorts);
  const ranges = new Map<string, readonly string[]>();
  for (const text of settings.get('service-cluster-ip-range') ?? []) {
    const { cluster, cidrs } = flagError('service-cluster-ip-range', text, () => {
      const target = splitTarget(text, names);
      return { cluster: target.cluster, cidrs: parseServiceRanges(target.value) };
    });
    for (const name of cluster === undefined ? names : [cluster]) ranges.set(name, cidrs);
  }
  const etcdPrefix = textOf(settings, 'etcd-prefix') ?? '/fairlead';
  const clusters = names.map((name, index) => ({
    name,
    etcdPrefix: `${etcdPrefix.replace(/\/$/, '')}/${name}`,
    listen: { host, port: ports.api(index) },
    dns: { address: host, port: ports.dns(index) },
    dashboardPorts: ports.dashboard,
    serviceCidrs: ranges.get(name) ?? [defaultRanges(index).services],
    superclusterCidrs: [defaultRanges(index).supercluster],
    loopbackEndpoints: loopbackEndpoints(names.length),
  }));
  checkDisjoint(clusters);
  return clusters;
}

/** Clusters on one machine share its addresses, so their ranges must be disjoint. */
function checkDisjoint(clusters: readonly Pick<ClusterOptions, 'name' | 'serviceCidrs'>[]): void {
  for (const [index, left] of clusters.entries()) {
    for (const right of clusters.slice(index + 1)) {
      for (const cidr of left.serviceCidrs) {
        const other = right.serviceCidrs.find((candidate) => overlap(cidr, candidate));
        if (other === undefined) continue;
        throw new UsageError(
          `--service-cluster-ip-range ${cidr} of "${left.name}" and ${other} of "${right.name}" overlap: ` +
            `give each cluster its own, as in ${cidr}@${left.name}`,
        );
      }
    }
  }
}

/** An OpenID issuer: clients append `/.well-known/openid-configuration`. */
function parseIssuer(text: string): string {
  const url = URL.parse(text);
  const isIssuer = url?.protocol === 'https:' && url.search === '' && url.hash === '';
  if (!isIssuer) throw new UsageError('expected a URL such as https://kubernetes.example.org');
  return text;
}

const parsePath = nonEmpty('a path');

/** Reads `--parts server,dns`. The server is required: `up` has no other API server for the parts. */
function parseParts(text: string): ReadonlySet<PartName> {
  const parts = new Set<PartName>();
  for (const word of text.split(',').map((part) => part.trim())) {
    const name = partNames.find((candidate) => candidate === word);
    if (name === undefined) throw new UsageError(`unknown component "${word}": expected ${partNames.join(', ')}`);
    parts.add(name);
  }
  if (!parts.has('server')) throw new UsageError('"server" is missing: the other components need it');
  return parts;
}

/** The ports of the i-th cluster; 0 is any free port. */
interface PortPlan {
  api(cluster: number): number;
  dns(cluster: number): number;
  /** The first free one is used. */
  readonly dashboard: readonly number[];
}

const defaultPorts: PortPlan = {
  api: (cluster) => 6443 + cluster,
  dns: (cluster) => 1053 + cluster,
  dashboard: Array.from({ length: 20 }, (_, index) => 7080 + index),
};
const [dnsOffset, dashboardOffset] = [100, 200];

/**
 * Reads `--port-base N`: API servers listen on N and up, DNS servers on N+100 and up, the dashboard on N+200; 0 for any free
 * port.
 */
function parsePortBase(text: string): PortPlan {
  const base = parsePort(text);
  if (base === 0) return { api: () => 0, dns: () => 0, dashboard: [0] };
  const last = base + dashboardOffset;
  if (last > 65535)
    throw new UsageError(`ports up to ${last} would be needed: expected at most ${65535 - dashboardOffset}`);
  return {
    api: (cluster) => base + cluster,
    dns: (cluster) => base + dnsOffset + cluster,
    dashboard: [base + dashboardOffset],
  };
}
