// The cluster of the controller, in which ClusterMembers are kept.
import { homedir } from 'node:os';
import { delimiter } from 'node:path';
import { kubeconfigPaths } from '../../client/kubeconfig.ts';
import { defaultNamespace } from '../install/manifest.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { readFlag, textOf } from '../options/flags.ts';
import { parseNamespace } from '../options/values.ts';

/** Where ClusterMembers are kept. */
export interface Hub {
  readonly paths: readonly string[];
  /** undefined: the current context. */
  readonly context: string | undefined;
  readonly namespace: string;
}

/** The flags that select the ClusterMembers. */
export const hubFlags: readonly Flag[] = [
  {
    name: 'hub',
    value: 'CONTEXT',
    description: 'context of the cluster of the controller',
    default: 'the current one',
  },
  { name: 'namespace', value: 'NAMESPACE', description: 'namespace of the ClusterMembers', default: defaultNamespace },
  {
    name: 'kubeconfig',
    value: 'FILE',
    description: 'kubeconfig with the contexts',
    default: '$KUBECONFIG or ~/.kube/config',
  },
];

/** Reads the flags. */
export function hubOf(settings: Settings): Hub {
  const kubeconfig = textOf(settings, 'kubeconfig');
  return {
    paths: kubeconfig === undefined ? kubeconfigPaths(process.env, homedir(), delimiter) : [kubeconfig],
    context: textOf(settings, 'hub'),
    namespace: readFlag(settings, 'namespace', parseNamespace, defaultNamespace),
  };
}
