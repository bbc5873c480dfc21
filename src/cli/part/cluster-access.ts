import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { messageOf } from '../../api/error-message.ts';
import type { ClusterAccess, Environment } from '../../client/kubeconfig.ts';
import { inCluster, kubeconfigPaths, readKubeconfig } from '../../client/kubeconfig.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag, textOf } from '../options/flags.ts';
import { nonEmpty } from '../options/values.ts';
import type { ClusterState, State } from '../up/state.ts';
import { defaultDataDir, serverOf, stateOf } from '../up/stored-clusters.ts';

/** The flags that select a cluster. */
export const clusterFlags: readonly Flag[] = grouped('Cluster', [
  {
    name: 'kubeconfig',
    value: 'FILE',
    description: 'kubeconfig of the cluster',
    default: '$KUBECONFIG, the service account of the Pod, or ~/.kube/config',
  },
  { name: 'context', value: 'NAME', description: 'context of the kubeconfig', default: 'the current one' },
]);

/** Where the access to a cluster was found. */
export interface FoundCluster {
  /** Empty: the service account of the Pod. */
  readonly paths: readonly string[];
  readonly context: string | undefined;
  /** For messages. */
  readonly source: string;
  /** The kubeconfig of a running `fairlead up`. */
  readonly isOfUp?: true;
}

/** The contexts that a command reads, and where they were found. */
export const contextsText = (contexts: readonly string[], source: string): string =>
  `${contexts.length === 1 ? 'the context' : 'the contexts'} ${contexts.join(', ')} of ${source}`;

/** What a Pod finds when its service account is mounted. */
const podToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * The cluster for a command that reads one and ends: that of `--kubeconfig`, of KUBECONFIG, of the Pod, of a `fairlead up`
 * that runs in this directory, or of ~/.kube/config, in this order.
 */
export async function findCluster(
  settings: Settings,
  env: Environment,
  dataDir = defaultDataDir,
): Promise<FoundCluster> {
  const named = namedCluster(settings, env);
  if (named !== undefined) return named;
  const context = textOf(settings, 'context');
  const running = await serverOf(dataDir);
  if (running !== undefined) {
    const path = join(dataDir, 'kubeconfig');
    return { paths: [path], context, source: `the running \`fairlead up\` (${path})`, isOfUp: true };
  }
  return homeKubeconfig(context, env);
}

/** The cluster of a flag, of KUBECONFIG or of the Pod; undefined: none of them is there. */
function namedCluster(settings: Settings, env: Environment): FoundCluster | undefined {
  const file = readFlag<string | undefined>(settings, 'kubeconfig', nonEmpty('a path'), undefined);
  const context = textOf(settings, 'context');
  if (file !== undefined) return { paths: [file], context, source: file };
  if ((env['KUBECONFIG'] ?? '') !== '') return { ...homeKubeconfig(context, env), source: '$KUBECONFIG' };
  if (context === undefined && env['KUBERNETES_SERVICE_HOST'] !== undefined && existsSync(podToken))
    return { paths: [], context, source: 'the service account of the Pod' };
  return undefined;
}

function homeKubeconfig(context: string | undefined, env: Environment): FoundCluster {
  const paths = kubeconfigPaths(env, homedir(), delimiter);
  return { paths, context, source: paths.join(', ') };
}

/** The running `fairlead up` or server that wrote the kubeconfig, and its cluster with this URL; undefined: none. */
export async function runningAt(
  { paths }: FoundCluster,
  server: string,
): Promise<{ readonly pid: number; readonly cluster: ClusterState } | undefined> {
  for (const { clusters, pid } of await runningStates({ paths })) {
    const cluster = clusters.find((each) => each.server === server);
    if (cluster !== undefined) return { pid, cluster };
  }
  return undefined;
}

/** What each `fairlead up` or server that wrote one of the kubeconfigs, or runs in this directory, reports. */
export async function runningStates({ paths }: Pick<FoundCluster, 'paths'>): Promise<readonly State[]> {
  const directories = new Set([...paths.map((path) => dirname(path)), defaultDataDir]);
  const states = await Promise.all(Array.from(directories, (directory) => stateOf(directory)));
  return states.filter((state) => state !== undefined);
}

/** The access of a part, which does not depend on the directory it is started in. */
export const partCluster = (settings: Settings, env: Environment): FoundCluster =>
  namedCluster(settings, env) ?? homeKubeconfig(textOf(settings, 'context'), env);

/** Reads the kubeconfig. Throws a UsageError that names the flag to pass. */
export async function readClusterAccess({ paths, context }: FoundCluster, env: Environment): Promise<ClusterAccess> {
  if (paths.length === 0) return inCluster(env);
  try {
    return await readKubeconfig({ paths, context, env });
  } catch (error) {
    const message = messageOf(error);
    throw new UsageError(`${message}${hintFor(message)}`, { cause: error });
  }
}

function hintFor(problem: string): string {
  if (/\bcontext\b/.test(problem)) return ': pass --context NAME';
  return problem.startsWith('there is no kubeconfig') ? ': pass --kubeconfig FILE' : '';
}
