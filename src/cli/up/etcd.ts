// --store etcd and its flags, named as in kube-apiserver.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';

import { fileErrorOf, messageOf } from '../../api/error-message.ts';
import type { EtcdAddress } from '../../store/etcd/client.ts';
import type { Store } from '../../store/store.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { booleanFlag, grouped, readFlag, readFlags } from '../options/flags.ts';
import { durationFrom, nonEmpty, parseBoolean } from '../options/values.ts';

/** The flags of every command that connects to etcd. */
export const etcdConnectionFlags: readonly Flag[] = [
  { name: 'etcd-cafile', value: 'FILE', description: 'certificate authorities of etcd, PEM' },
  { name: 'etcd-certfile', value: 'FILE', description: 'client certificate for etcd, PEM' },
  { name: 'etcd-keyfile', value: 'FILE', description: 'key of the client certificate, PEM' },
  {
    name: 'etcd-timeout',
    value: 'DURATION',
    description: 'how long the first connection to etcd is tried',
    default: '60s',
  },
];

export const etcdFlags: readonly Flag[] = grouped('Flags of --store etcd', [
  {
    name: 'etcd-servers',
    value: 'URL,...',
    description: 'members of etcd, as in https://10.0.0.1:2379,https://10.0.0.2:2379',
    repeatable: true,
  },
  { name: 'etcd', value: 'URL,...', description: 'the same as --etcd-servers', repeatable: true },
  {
    name: 'etcd-prefix',
    value: 'PREFIX',
    description: 'prefix of all keys in etcd; `up` adds the name of each cluster',
    default: '/registry; for `up` /fairlead',
  },
  ...etcdConnectionFlags,
  {
    name: 'etcd-compaction-interval',
    value: 'DURATION',
    description: 'age of the history that etcd keeps for watches; 0 leaves the compaction to others',
    default: '5m',
  },
  {
    name: 'etcd-adopt',
    ...booleanFlag,
    description: 'share the objects under the prefix with a kube-apiserver, or take them over',
  },
]);

/** How to connect to etcd. */
interface EtcdConnection {
  readonly endpoints: readonly string[];
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly timeoutMs: number;
}

/** How to use etcd. */
export interface EtcdOptions extends EtcdConnection {
  /** Undefined: the default of the command. */
  readonly prefix: string | undefined;
  readonly keepMs: number;
  readonly isAdopting: boolean;
}

const path = nonEmpty('a path');

/** Reads the flags; undefined for another kind of store. */
export function readEtcd(settings: Settings, store: string): EtcdOptions | undefined {
  const servers = ['etcd-servers', 'etcd'].flatMap((name) => readFlags(settings, name, parseEndpoints).flat());
  if (store !== 'etcd') {
    const given = etcdFlags.find(({ name }) => settings.has(name));
    if (given !== undefined) throw new UsageError(`--${given.name} needs --store etcd`);
    return undefined;
  }
  if (servers.length === 0) throw new UsageError('--store etcd needs --etcd-servers, as in http://127.0.0.1:2379');
  return {
    ...readEtcdConnection(settings, servers),
    prefix: readFlag<string | undefined>(settings, 'etcd-prefix', parsePrefix, undefined),
    keepMs: readFlag(settings, 'etcd-compaction-interval', durationFrom(0, '0s'), 5 * 60_000),
    isAdopting: readFlag(settings, 'etcd-adopt', parseBoolean, false),
  };
}

/** Reads `etcdConnectionFlags` for these members. */
export function readEtcdConnection(settings: Settings, servers: readonly string[]): EtcdConnection {
  const file = (name: string): string | undefined => readFlag<string | undefined>(settings, name, path, undefined);
  const [caFile, certFile, keyFile] = [file('etcd-cafile'), file('etcd-certfile'), file('etcd-keyfile')];
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new UsageError('--etcd-certfile and --etcd-keyfile must be given together');
  }
  const isSecure = servers.every((url) => url.startsWith('https:'));
  if (!isSecure && servers.some((url) => url.startsWith('https:'))) {
    throw new UsageError('--etcd-servers has URLs with http:// and https://: use one of them for all members');
  }
  if (!isSecure && (caFile ?? certFile) !== undefined) {
    throw new UsageError('--etcd-cafile, --etcd-certfile and --etcd-keyfile need members with https://');
  }
  const timeoutMs = readFlag(settings, 'etcd-timeout', durationFrom(0, '0s'), 60_000);
  return { endpoints: [...new Set(servers)], caFile, certFile, keyFile, timeoutMs };
}

/** The connection with the content of its files. */
export async function loadEtcdConnection(
  connection: EtcdConnection,
): Promise<EtcdAddress & { readonly timeoutMs: number }> {
  const { endpoints, timeoutMs } = connection;
  const [ca, cert, key] = await Promise.all([
    readPem('etcd-cafile', connection.caFile),
    readPem('etcd-certfile', connection.certFile),
    readPem('etcd-keyfile', connection.keyFile),
  ]);
  if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----')) {
    throw new UsageError(`--etcd-cafile ${connection.caFile}: it has no certificate: expected PEM`);
  }
  if (cert === undefined || key === undefined) return { endpoints, timeoutMs, ca };
  checkPair(connection, { cert, key });
  return { endpoints, timeoutMs, ca, pair: { cert, key } };
}

/** Throws if a key is not that of the certificate. */
function checkPair(
  { certFile, keyFile }: EtcdConnection,
  { cert, key }: { readonly cert: string; readonly key: string },
): void {
  const certificate = parsePem(`--etcd-certfile ${certFile}: it has no certificate`, () => new X509Certificate(cert));
  const privateKey = parsePem(`--etcd-keyfile ${keyFile}: it has no key`, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new UsageError(`--etcd-keyfile ${keyFile}: it is not the key of --etcd-certfile ${certFile}`);
  }
}

function parsePem<T>(problem: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(`${problem}: expected PEM without a passphrase`, { cause: error });
  }
}

const parseEndpoints = (text: string): readonly string[] => text.split(',').map(parseEndpoint);

/** Reads the URL of a member. */
export function parseEndpoint(text: string): string {
  const url = URL.parse(text.trim());
  const isEndpoint = url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.port !== '';
  if (!isEndpoint) throw new UsageError('expected URLs such as https://10.0.0.1:2379, separated by commas');
  return url.origin;
}

/** Reads a value of `--etcd-prefix`. */
export function parsePrefix(text: string): string {
  if (!/^\/?[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*\/?$/.test(text)) {
    throw new UsageError('expected a path such as /registry');
  }
  return text;
}

/** What a cluster needs of its prefix. */
export interface EtcdCluster {
  readonly name: string;
  readonly prefix: string;
  /** The certificate authorities of the cluster, PEM. */
  readonly ca: string;
  readonly quotaBytes: number;
  readonly log: Logger;
}

/** Opens the store of a cluster in etcd. */
export async function openEtcd(options: EtcdOptions, cluster: EtcdCluster): Promise<Store> {
  const { keepMs, isAdopting } = options;
  const connection = await loadEtcdConnection(options);
  const { openEtcdStore } = await import('../../store/etcd/etcd.ts');
  try {
    return await openEtcdStore({
      ...connection,
      prefix: cluster.prefix,
      owner: { name: cluster.name, authorities: fingerprintsOf(cluster.ca), isAdopting },
      keepMs,
      quotaBytes: cluster.quotaBytes,
      onNotice: (message, keys) => cluster.log.warn({ cluster: cluster.name, ...keys }, message),
    });
  } catch (error) {
    throw new FatalError(messageOf(error), { cause: error });
  }
}

async function readPem(flag: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--${flag} ${file}: ${fileErrorOf(error)}`, { cause: error });
  }
}

const fingerprintsOf = (bundle: string): readonly string[] =>
  bundle
    .split(/(?<=-----END CERTIFICATE-----)/)
    .filter((pem) => pem.includes('BEGIN CERTIFICATE'))
    .map((pem) => new X509Certificate(pem).fingerprint256);
