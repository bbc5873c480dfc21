import { defaultPlugins, pluginNames } from '../../server/admission/plugins.ts';
import { partNames } from '../parts.ts';
import { featureGatesFlag } from '../options/feature-gates.ts';
import type { Flag } from '../options/flags.ts';
import { booleanFlag, grouped } from '../options/flags.ts';
import { logFlags } from '../process/log.ts';
import { encryptionFlags } from './encryption.ts';
import { etcdFlags } from './etcd.ts';
import { limitFlags } from './limit-flags.ts';
import { nodeFlags } from './node-flags.ts';
import { proxyModes, storeKinds } from './options.ts';

/** Flags of every command that runs an API server, named as in kube-apiserver where it has them. */
export const serverFlags: readonly Flag[] = [
  {
    name: 'data-dir',
    value: 'DIR',
    description: 'directory of the store, certificates, kubeconfig and state.json',
    default: '.fairlead',
  },
  {
    name: 'service-node-port-range',
    value: 'FROM-TO',
    description: 'ports of NodePort Services; also FROM+COUNT, or one port',
    default: '30000-32767',
  },
  featureGatesFlag,
  ...grouped('Store', [
    { name: 'store', value: 'KIND', description: 'kind of the store', choices: storeKinds, default: 'sqlite' },
    {
      name: 'quota-backend-bytes',
      value: 'N',
      description: "maximum bytes of a store; at most a quarter of Node's heap limit",
      default: '2147483648',
    },
    {
      name: 'accept-data-loss',
      ...booleanFlag,
      description: 'for one start: open a store that lost acknowledged writes, and delete its damaged records',
    },
    ...encryptionFlags,
  ]),
  ...etcdFlags,
  ...grouped('Authentication', [
    { name: 'token-auth-file', value: 'FILE', description: 'static tokens: CSV of token,user,uid,"group1,group2"' },
    {
      name: 'service-account-issuer',
      value: 'URL',
      description: 'issuer of service account tokens',
      default: 'https://kubernetes.default.svc.cluster.local',
    },
  ]),
  ...grouped('Admission plugins', [
    {
      name: 'enable-admission-plugins',
      value: 'NAME,...',
      description: `admission plugins to enable: ${pluginNames.join(', ')}`,
      repeatable: true,
      default: [...defaultPlugins].join(', '),
    },
    {
      name: 'disable-admission-plugins',
      value: 'NAME,...',
      description: 'admission plugins to disable',
      repeatable: true,
    },
  ]),
  ...nodeFlags,
  ...limitFlags,
  ...logFlags('warn'),
];

/** The flags of `up`. */
export const upFlags: readonly Flag[] = [
  {
    name: 'cluster',
    value: 'NAME',
    description: 'name of a cluster to run',
    repeatable: true,
    default: 'east and west',
  },
  {
    name: 'service-cluster-ip-range',
    value: 'CIDR[@NAME]',
    description: 'range of cluster IPs: one CIDR or an IPv4,IPv6 pair, for every cluster or for one',
    repeatable: true,
    default: '127.64.0.0/16, 127.65.0.0/16, …',
  },
  {
    name: 'apply',
    value: 'PATH[@NAME]',
    description: 'file or directory of manifests to apply to every cluster or to one',
    repeatable: true,
  },
  {
    name: 'demo',
    ...booleanFlag,
    description: 'create Services with Pods that are processes of this machine, and print commands to try',
  },
  {
    name: 'parts',
    value: 'LIST',
    description: `components to run: ${partNames.join(', ')}`,
    default: 'all',
  },
  {
    name: 'proxy',
    value: 'KIND',
    description: 'mode of the proxy',
    choices: proxyModes,
    default: 'userspace',
  },
  {
    name: 'port-base',
    value: 'N',
    description:
      'API servers listen on N and up, DNS servers on N+100 and up, the dashboard on N+200; 0 for any free port',
    default: 'API 6443 and up, DNS 1053 and up, dashboard 7080 or the next free one',
  },
  ...serverFlags,
];
