import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter } from 'node:path';
import { messageOf } from '../../api/error-message.ts';
import type { ClusterAccess, Environment } from '../../client/kubeconfig.ts';
import { inCluster, kubeconfigPaths, readKubeconfig } from '../../client/kubeconfig.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../settings.ts';

/** The flags that say which cluster is meant. */
export const clusterFlags: readonly Flag[] = [
  {
    name: 'kubeconfig',
    value: 'FILE',
    description: 'how to reach the cluster',
    default: '$KUBECONFIG, in a Pod its own cluster, else ~/.kube/config',
  },
  { name: 'context', value: 'NAME', description: 'which context of the kubeconfig', default: 'the current one' },
];

/** What a Pod finds when its service account is mounted. */
const podToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** How to reach the cluster that the flags, the environment or the Pod name. */
export async function readClusterAccess(settings: Settings, env: Environment): Promise<ClusterAccess> {
  const file = settings.get('kubeconfig')?.at(-1);
  const context = settings.get('context')?.at(-1);
  if (file === '') throw new UsageError('invalid argument "" for "--kubeconfig" flag: expected a path');
  const isNamed = file !== undefined || context !== undefined || (env['KUBECONFIG'] ?? '') !== '';
  if (!isNamed && env['KUBERNETES_SERVICE_HOST'] !== undefined && existsSync(podToken)) return inCluster(env);
  const paths = file === undefined ? kubeconfigPaths(env, homedir(), delimiter) : [file];
  try {
    return await readKubeconfig({ paths, context, env });
  } catch (error) {
    const hint = file === undefined ? ': pass --kubeconfig FILE' : '';
    throw new UsageError(`${messageOf(error)}${hint}`, { cause: error });
  }
}
