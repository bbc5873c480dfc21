import type { AdmissionPlugins } from '../../server/admission/plugins.ts';
import type { AuditOptions } from '../../server/audit/options.ts';
import type { LimitOptions } from '../../server/limits/options.ts';
import { UsageError } from '../errors.ts';
import { flagError, oneOf, readFlag, sectionOf } from '../options/flags.ts';
import type { LogLevel } from '../process/log.ts';
import { logLevels } from '../process/log.ts';
import { parseBoolean } from '../part/boolean.ts';
import { readAdmissionPlugins } from './admission-plugins.ts';
import { overlap, parseServiceRanges } from '../options/cidr.ts';
import { parseClusterName, splitTarget } from '../options/cluster-name.ts';
import type { GateSettings } from '../options/feature-gates.ts';
import { parseFeatureGates } from '../options/feature-gates.ts';
import type { PortRange } from '../options/ports.ts';
import { parsePortRange } from '../options/ports.ts';
import type { Settings } from '../settings.ts';
import type { EncryptionOptions } from './encryption.ts';
import { readEncryption } from './encryption.ts';
import { countFrom, readAudit, readLimits } from './limit-flags.ts';
import type { PartName } from './parts.ts';
import { builtParts, parseParts, partNames } from './parts.ts';
import { defaultPorts, parsePortBase } from './ports.ts';
import { defaultRanges, loopbackEndpoints, mostClusters } from './ranges.ts';

/** One API server of a control plane. */
export interface ClusterOptions {
  readonly name: string;
  readonly listen: { readonly host: string; readonly port: number };
  /** The address that clients are told; default: where it listens. */
  readonly advertise?: string;
  /** Where its DNS server answers, if it has one. */
  readonly dns?: { readonly address: string; readonly port: number };
  readonly serviceCidrs: readonly string[];
  /** Where its supercluster IPs are, if it is in a set. */
  readonly superclusterCidrs?: readonly string[];
  /** Loopback ranges that endpoints may use; none in production. */
  readonly loopbackEndpoints: readonly string[];
}

export type StoreKind = 'memory' | 'sqlite';

/** What every command that runs API servers needs. */
export interface ServerOptions {
  readonly dataDir: string;
  readonly store: StoreKind;
  /** Bytes a store may hold; undefined: the default. */
  readonly quotaBytes: number | undefined;
  readonly acceptDataLoss: boolean;
  readonly nodePorts: PortRange;
  readonly tokenFile: string | undefined;
  readonly issuer: string | undefined;
  readonly admissionPlugins: AdmissionPlugins;
  readonly encryption: EncryptionOptions | undefined;
  readonly limits: Partial<LimitOptions>;
  readonly audit: AuditOptions | undefined;
  readonly gates: GateSettings;
  readonly logLevel: LogLevel;
}

export interface UpOptions extends ServerOptions {
  /** Part → what the configuration file says of it. */
  readonly partSettings: ReadonlyMap<string, Settings>;
  readonly clusters: readonly ClusterOptions[];
  readonly parts: ReadonlySet<PartName>;
  /** Fills the clusters with something to try. */
  readonly demo: boolean;
  readonly proxy: 'userspace' | 'nftables' | 'none';
  /** Parts that were asked for by name and cannot run yet. */
  readonly missing: readonly PartName[];
  /** Manifests to apply; `cluster` undefined: to all. */
  readonly apply: readonly { readonly path: string; readonly cluster: string | undefined }[];
}

const host = '127.0.0.1';

/** What a new cluster needs, and some objects of the largest size. */
const minQuotaBytes = 16 * 1024 * 1024;

/** The flags that every command with an API server has. */
export function readServerOptions(settings: Settings): ServerOptions {
  const gates = settings.get('feature-gates')?.join(',') ?? '';
  if (settings.has('etcd') && settings.get('store')?.at(-1) !== 'etcd') {
    throw new UsageError('--etcd needs --store etcd: without it nothing would be kept there');
  }
  return {
    dataDir: readFlag(settings, 'data-dir', nonEmpty, '.fairlead'),
    store: readFlag(settings, 'store', parseStore, 'sqlite'),
    quotaBytes: readFlag<number | undefined>(settings, 'quota-backend-bytes', countFrom(minQuotaBytes), undefined),
    acceptDataLoss: readFlag(settings, 'accept-data-loss', parseBoolean, false),
    nodePorts: readFlag(settings, 'service-node-port-range', parsePortRange, { from: 30000, to: 32767 }),
    tokenFile: readFlag<string | undefined>(settings, 'token-auth-file', nonEmpty, undefined),
    issuer: readFlag<string | undefined>(settings, 'service-account-issuer', parseIssuer, undefined),
    admissionPlugins: readAdmissionPlugins(settings),
    encryption: readEncryption(settings),
    limits: readLimits(settings),
    audit: readAudit(settings),
    gates: flagError('feature-gates', gates, () => parseFeatureGates(gates)),
    logLevel: readFlag(settings, 'log-level', oneOf(logLevels), 'warn'),
  };
}

/** The flags of `up`, checked and with defaults. */
export function readUpOptions(settings: Settings): UpOptions {
  const names = clusterNames(settings);
  const parts = readFlag(settings, 'parts', parseParts, new Set(partNames));
  const proxy = readFlag(settings, 'proxy', oneOf(['userspace', 'nftables', 'none']), 'userspace');
  const named = [
    ...(settings.has('parts') ? parts : []),
    ...(settings.has('proxy') && proxy !== 'none' ? ['proxy'] : []),
  ];
  return {
    ...readServerOptions(settings),
    partSettings: new Map(partNames.map((name) => [name, partSection(name, settings, proxy)])),
    clusters: clusterOptions(names, settings),
    parts: proxy === 'none' ? parts.difference(new Set<PartName>(['proxy'])) : parts,
    proxy,
    demo: readFlag(settings, 'demo', parseBoolean, false),
    missing: partNames.filter((name) => named.includes(name) && !builtParts.has(name)),
    apply: (settings.get('apply') ?? []).map((text) => {
      const { value, cluster } = flagError('apply', text, () => splitTarget(text, names));
      return { path: flagError('apply', text, () => nonEmpty(value)), cluster };
    }),
  };
}

/** What is said of a part: for the proxy also by the flag of its mode, which is above the file. */
function partSection(name: PartName, settings: Settings, proxy: UpOptions['proxy']): Settings {
  const section = sectionOf(settings, name);
  if (name !== 'proxy' || proxy === 'none' || (section.has('proxy-mode') && !settings.has('proxy'))) return section;
  return new Map([...section, ['proxy-mode', [proxy]]]);
}

function clusterNames(settings: Settings): readonly string[] {
  const given = settings.get('cluster') ?? ['east', 'west'];
  const names = given.map((text) => flagError('cluster', text, () => parseClusterName(text)));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new UsageError(`cluster "${twice}" is given twice: every --cluster needs its own name`);
  if (names.length === 0) throw new UsageError('no cluster is given: name one with --cluster');
  if (names.length > mostClusters)
    throw new UsageError(`${names.length} clusters are given: at most ${mostClusters} fit`);
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
  const clusters = names.map((name, index) => ({
    name,
    listen: { host, port: ports.api(index) },
    dns: { address: host, port: ports.dns(index) },
    serviceCidrs: ranges.get(name) ?? [defaultRanges(index).services],
    superclusterCidrs: [defaultRanges(index).supercluster],
    loopbackEndpoints: loopbackEndpoints(names.length),
  }));
  checkDisjoint(clusters);
  return clusters;
}

/** Clusters on one machine share its addresses, so one address cannot be a Service of two of them. */
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

function parseStore(text: string): StoreKind {
  const kind = oneOf(['memory', 'sqlite', 'etcd'])(text);
  if (kind === 'etcd') throw new UsageError('the etcd store is not available yet: use sqlite or memory');
  return kind;
}

/** An OpenID issuer: others put `/.well-known/openid-configuration` behind it. */
function parseIssuer(text: string): string {
  const url = URL.parse(text);
  const isIssuer = url?.protocol === 'https:' && url.search === '' && url.hash === '';
  if (!isIssuer) throw new UsageError('expected a URL such as https://kubernetes.example.org');
  return text;
}

function nonEmpty(text: string): string {
  if (text === '') throw new UsageError('expected a path');
  return text;
}
