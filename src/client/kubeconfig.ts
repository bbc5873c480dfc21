import { dirname, join } from 'node:path';
import { load, YAMLException } from 'js-yaml';

import { joinHostPort } from '../api/addresses.ts';
import { fileErrorOf, messageOf } from '../api/error-message.ts';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import type { ConfigEntry } from './config-entry.ts';
import { isRecord, pathOf, pemOf, readBoundedFile, recordOf, textOf } from './config-entry.ts';
import { credentialsOf, refreshed, tokenAndCertificateOf, tokenIn } from './credentials.ts';
import { KubeconfigError } from './errors.ts';
import type { Credentials, ServerAccess } from './http-socket.ts';

/** Environment variables, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface KubeconfigOptions {
  /** Files to merge; the first definition of a name wins. Missing files are skipped. */
  readonly paths: readonly string[];
  /** Default: the `current-context` of the files. */
  readonly context?: string | undefined;
  /** The environment of credential plugins. */
  readonly env?: Environment;
  readonly clock?: Clock;
}

/** The server and default namespace of a kubeconfig context. */
export interface ClusterAccess extends ServerAccess {
  readonly context: string;
  readonly namespace: string;
}

/** The files that `kubectl` reads: those in KUBECONFIG, or the one in the home directory. */
export function kubeconfigPaths(env: Environment, home: string, separator = ':'): readonly string[] {
  const paths = (env['KUBECONFIG'] ?? '').split(separator).filter((path) => path !== '');
  return paths.length > 0 ? paths : [join(home, '.kube', 'config')];
}

/**
 * How to reach the cluster of a context. Throws a KubeconfigError that names the file or entry at fault. Credentials and
 * certificate authorities are reloaded when the files change, unless the server of the context changed too.
 */
export async function readKubeconfig(options: KubeconfigOptions): Promise<ClusterAccess> {
  const { env = {}, clock = systemClock } = options;
  const first = await readContext(options);
  const access = await clusterOf(first.cluster, first.clusterName);
  const sourceOf = async ({ user, userName }: Context, ca: string | undefined) => ({
    entry: JSON.stringify(user),
    credentials: await credentialsOf(user, { env, clock, userName, cluster: access }),
    ca,
  });
  const source = refreshed<Awaited<ReturnType<typeof sourceOf>>>(async (last) => {
    if (last === undefined) return sourceOf(first, access.ca);
    // The current context may have changed: stay with the one that was selected first.
    const now = await readContext({ ...options, context: first.name });
    // Never send the credentials of another server to this one.
    if (textOf(now.cluster.entry, 'server') !== access.server) return last;
    const ca = await pemOf(now.cluster, 'certificate-authority');
    return JSON.stringify(now.user) === last.entry ? { ...last, ca } : sourceOf(now, ca);
  }, clock);
  await source(false);
  return {
    ...access,
    context: first.name,
    namespace: first.namespace,
    async credentials(isRefused) {
      const { credentials, ca } = await source(isRefused);
      return { ...(await credentials(isRefused)), ...changed(ca, access) };
    },
  };
}

/** The names of all contexts in kubeconfig files, in their order. Throws a KubeconfigError if there is no file. */
export const contextNames = async (paths: readonly string[]): Promise<readonly string[]> =>
  namesIn(await readFiles(paths));

const namesIn = (files: readonly ConfigFile[]): readonly string[] => [
  ...new Set(files.flatMap(({ contexts }) => [...contexts.keys()])),
];

/** The names of the contexts, one for each cluster: the current one, or the first. */
export async function contextOfEachCluster(paths: readonly string[]): Promise<readonly string[]> {
  const files = await readFiles(paths);
  const current = currentIn(files);
  const byCluster = Map.groupBy(namesIn(files), (name) =>
    textOf(find(files, 'contexts', name, `context "${name}"`).entry, 'cluster'),
  );
  return Array.from(byCluster.values(), (own) => own.find((name) => name === current) ?? own[0] ?? '');
}

const currentIn = (files: readonly ConfigFile[]): string | undefined =>
  files.map(({ currentContext }) => currentContext).find((context) => context !== '');

async function readFiles(paths: readonly string[]): Promise<readonly ConfigFile[]> {
  const files = (await Promise.all(paths.map(readConfig))).filter((file) => file !== undefined);
  if (files.length === 0) throw new KubeconfigError(`there is no kubeconfig at ${paths.join(' or ')}`);
  return files;
}

/** A context with its cluster and user. */
interface Context {
  readonly name: string;
  readonly namespace: string;
  readonly clusterName: string;
  readonly cluster: ConfigEntry;
  readonly userName: string;
  readonly user: ConfigEntry;
}

const readContext = async ({ paths, context }: KubeconfigOptions): Promise<Context> =>
  contextIn(await readFiles(paths), context, paths.join(', '));

function contextIn(files: readonly ConfigFile[], wanted: string | undefined, source: string): Context {
  const name = wanted ?? currentIn(files);
  if (name === undefined) throw new KubeconfigError(`${source} has no current-context`);
  const { entry } = find(files, 'contexts', name, `context "${name}"`);
  const clusterName = textOf(entry, 'cluster') ?? '';
  const userName = textOf(entry, 'user') ?? '';
  return {
    name,
    namespace: textOf(entry, 'namespace') ?? 'default',
    clusterName,
    cluster: find(files, 'clusters', clusterName, `cluster "${clusterName}" of context "${name}"`),
    userName,
    user:
      userName === ''
        ? { entry: {}, directory: '.' }
        : find(files, 'users', userName, `user "${userName}" of context "${name}"`),
  };
}

/** The name of the extension of a cluster with the URLs of all its API servers. Kubernetes' clients ignore it. */
const serversExtension = 'fairlead.dev/servers';

function otherServersOf(entry: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const extensions = Array.isArray(entry['extensions']) ? (entry['extensions'] as readonly unknown[]) : [];
  const found = extensions.filter(isRecord).find((extension) => extension['name'] === serversExtension);
  if (found === undefined) return [];
  const { servers } = isRecord(found['extension']) ? found['extension'] : {};
  const isList = Array.isArray(servers) && servers.every((url) => typeof url === 'string' && URL.canParse(url));
  if (isList) return servers as readonly string[];
  throw new KubeconfigError(
    `cluster "${name}": the extension "${serversExtension}" needs a list "servers" of URLs: ${JSON.stringify(found['extension'])}`,
  );
}

async function clusterOf(cluster: ConfigEntry, name: string): Promise<Omit<ServerAccess, 'credentials'>> {
  const { entry } = cluster;
  const server = textOf(entry, 'server');
  if (server === undefined || !URL.canParse(server)) {
    throw new KubeconfigError(`cluster "${name}" has no server that is a URL: ${JSON.stringify(server)}`);
  }
  const proxyUrl = textOf(entry, 'proxy-url');
  if (proxyUrl !== undefined && !(URL.canParse(proxyUrl) && new URL(proxyUrl).protocol === 'http:'))
    throw new KubeconfigError(`cluster "${name}": proxy-url must be an http:// URL: ${JSON.stringify(proxyUrl)}`);
  const ca = await pemOf(cluster, 'certificate-authority');
  const tlsServerName = textOf(entry, 'tls-server-name');
  const otherServers = otherServersOf(entry, name).filter((other) => other !== server);
  return {
    server,
    ...(otherServers.length === 0 ? {} : { otherServers }),
    ...(ca === undefined ? {} : { ca }),
    ...(entry['insecure-skip-tls-verify'] === true ? { insecureSkipTlsVerify: true } : {}),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
  };
}

type Section = 'clusters' | 'contexts' | 'users';

interface ConfigFile extends Readonly<Record<Section, ReadonlyMap<string, ConfigEntry>>> {
  readonly currentContext: string;
}

function find(files: readonly ConfigFile[], section: Section, name: string, what: string): ConfigEntry {
  const found = files.map((file) => file[section].get(name)).find((entry) => entry !== undefined);
  if (found !== undefined) return found;
  const known = [...new Set(files.flatMap((file) => [...file[section].keys()]))];
  throw new KubeconfigError(`there is no ${what}${known.length === 0 ? '' : ` (known: ${known.join(', ')})`}`);
}

async function readConfig(path: string): Promise<ConfigFile | undefined> {
  let content: string;
  try {
    content = await readBoundedFile(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new KubeconfigError(`cannot read ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
  return parseConfig(content, path);
}

function parseConfig(content: string, path: string): ConfigFile {
  let document: unknown;
  try {
    document = load(content);
  } catch (error) {
    const { mark, reason } = error instanceof YAMLException ? error : {};
    const place = mark === undefined ? '' : ` at line ${mark.line + 1}`;
    throw new KubeconfigError(`${path} is not YAML: ${reason ?? messageOf(error)}${place}`, { cause: error });
  }
  if (!isRecord(document)) throw new KubeconfigError(`${path} is not a kubeconfig`);
  const directory = dirname(path);
  const section = (name: Section, field: string): ReadonlyMap<string, ConfigEntry> => {
    const items = Array.isArray(document[name]) ? document[name].filter(isRecord) : [];
    const named = items.map((item) => [String(item['name']), recordOf(item[field])] as const);
    // The first of two entries with the same name wins, as between files.
    const entries = new Map(named.toReversed().map(([key, entry]) => [key, { entry, directory }]));
    return new Map([...entries].toReversed()); // in the order of the file
  };
  return {
    currentContext: textOf(document, 'current-context') ?? '',
    clusters: section('clusters', 'cluster'),
    contexts: section('contexts', 'context'),
    users: section('users', 'user'),
  };
}

/** What would be read or run on this machine, or what no server accepts any more. */
const foreignFields = {
  cluster: ['certificate-authority'],
  user: ['client-certificate', 'client-key', 'tokenFile', 'exec', 'auth-provider'],
} as const;

/**
 * How to reach the cluster of a kubeconfig that came through the API. Throws a KubeconfigError if it does not contain
 * everything itself: files and programs that it names would be those of this machine. `source` is for messages.
 */
export async function embeddedAccess(
  content: string,
  { source, context: wanted }: { readonly source: string; readonly context?: string | undefined },
): Promise<EmbeddedAccess> {
  const context = contextIn([parseConfig(content, source)], wanted, source);
  const { cluster, clusterName, user, userName, name, namespace } = context;
  for (const [what, { entry }] of [
    ['cluster', cluster],
    ['user', user],
  ] as const) {
    const field = foreignFields[what].find((each) => entry[each] !== undefined);
    if (field === undefined) continue;
    const of = what === 'cluster' ? clusterName : userName;
    throw new KubeconfigError(
      `${source}: ${what} "${of}" has ${field}: embed the data, as \`kubectl config view --raw --flatten\` does`,
    );
  }
  const credentials = await tokenAndCertificateOf(user);
  if (credentials.token === undefined && credentials.cert === undefined)
    throw new KubeconfigError(`${source}: user "${userName}" has neither a token nor a client certificate`);
  const access = await clusterOf(cluster, clusterName);
  return { ...access, context: name, namespace, userName, embedded: credentials, credentials: async () => credentials };
}

/** See `embeddedAccess`. */
export interface EmbeddedAccess extends ClusterAccess {
  readonly userName: string;
  readonly embedded: Credentials;
}

/** A kubeconfig with one context that contains everything itself. Throws a KubeconfigError if its user has a plugin. */
export async function embeddedConfig(options: KubeconfigOptions): Promise<string> {
  const { name, clusterName, cluster, userName, user } = await readContext(options);
  for (const field of ['exec', 'auth-provider']) {
    if (user.entry[field] !== undefined)
      throw new KubeconfigError(`user "${userName}" has ${field}, whose credentials cannot be stored`);
  }
  const tokenFile = textOf(user.entry, 'tokenFile');
  const { token, cert, key } = await (tokenFile === undefined
    ? tokenAndCertificateOf(user)
    : tokenIn(pathOf(user, tokenFile)));
  const ca = await pemOf(cluster, 'certificate-authority');
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const { 'certificate-authority': _, ...kept } = cluster.entry;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    contexts: [{ name, context: { cluster: clusterName, user: userName } }],
    clusters: [
      {
        name: clusterName,
        cluster: { ...kept, ...(ca === undefined ? {} : { 'certificate-authority-data': base64(ca) }) },
      },
    ],
    users: [
      {
        name: userName,
        user: {
          ...(token === undefined ? {} : { token }),
          ...(cert === undefined || key === undefined
            ? {}
            : { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) }),
        },
      },
    ],
  });
}

/** The same kubeconfig with another token of a user, as JSON. */
export function withToken(content: string, userName: string, token: string): string {
  const document = recordOf(load(content));
  const users = Array.isArray(document['users']) ? document['users'].filter(isRecord) : [];
  const changed = users.map((item) =>
    item['name'] === userName ? { ...item, user: { ...recordOf(item['user']), token } } : item,
  );
  return JSON.stringify({ ...document, users: changed });
}

/** How a program in a Pod reaches its own cluster, from the service account volume that the kubelet mounts. */
export async function inCluster(
  env: Environment,
  { directory = '/var/run/secrets/kubernetes.io/serviceaccount', clock = systemClock }: InClusterOptions = {},
): Promise<ClusterAccess> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port)
    throw new KubeconfigError('not running in a Pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set');
  const user: ConfigEntry = { entry: { tokenFile: 'token' }, directory };
  const authorities = refreshed(() => readBoundedFile(join(directory, 'ca.crt')), clock);
  const access = { server: `https://${joinHostPort(host, port)}`, ca: await authorities(false) };
  const token = await credentialsOf(user, { env, clock, userName: 'in-cluster', cluster: access });
  return {
    ...access,
    context: 'in-cluster',
    namespace: (await readBoundedFile(join(directory, 'namespace'))).trim(),
    credentials: async (isRefused) => ({ ...(await token(isRefused)), ...changed(await authorities(false), access) }),
  };
}

/** The authorities, if they are no longer those that were read first. */
const changed = (ca: string | undefined, first: { readonly ca?: string }): Pick<Credentials, 'ca'> =>
  ca === undefined || ca === first.ca ? {} : { ca };

export interface InClusterOptions {
  /** The directory with `token`, `namespace` and `ca.crt`. */
  readonly directory?: string;
  readonly clock?: Clock;
}
