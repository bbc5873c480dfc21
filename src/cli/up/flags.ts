import { defaultPlugins, pluginNames } from '../../server/admission/plugins.ts';
import type { Flag } from '../settings.ts';
import { encryptionFlags } from './encryption.ts';
import { limitFlags } from './limit-flags.ts';
import { builtParts, partNames } from './parts.ts';

/** Flags of every command that runs an API server, spelled as kube-apiserver spells them. */
export const serverFlags: readonly Flag[] = [
  {
    name: 'data-dir',
    value: 'DIR',
    description: 'store, certificates, kubeconfig and state.json',
    default: '.fairlead',
  },
  { name: 'store', value: 'KIND', description: 'sqlite or memory; etcd (not yet)', default: 'sqlite' },
  { name: 'etcd', value: 'URL,...', description: 'etcd servers, for --store etcd (not yet)' },
  {
    name: 'quota-backend-bytes',
    value: 'N',
    description: "maximum bytes of a store; at most a quarter of Node's heap limit",
    default: '2147483648',
  },
  {
    name: 'accept-data-loss',
    value: 'true|false',
    description: 'for one start: open a store that lost acknowledged writes, and delete its damaged records',
    bare: 'true',
    default: 'false',
  },
  {
    name: 'service-node-port-range',
    value: 'FROM-TO',
    description: 'ports for NodePort Services; also FROM+MORE, or one port',
    default: '30000-32767',
  },
  { name: 'token-auth-file', value: 'FILE', description: 'CSV of token,user,uid,"group1,group2"' },
  {
    name: 'service-account-issuer',
    value: 'URL',
    description: 'who makes the tokens of service accounts',
    default: 'https://kubernetes.default.svc.cluster.local',
  },
  {
    name: 'enable-admission-plugins',
    value: 'NAME,...',
    description: `admission plugins to enable in addition to the default ones: ${pluginNames.join(', ')}`,
    repeatable: true,
    default: [...defaultPlugins].join(', '),
  },
  {
    name: 'disable-admission-plugins',
    value: 'NAME,...',
    description: 'admission plugins to disable that are enabled by default',
    repeatable: true,
  },
  ...encryptionFlags,
  ...limitFlags,
  { name: 'feature-gates', value: 'A=true,...', description: 'see `fairlead gates`', repeatable: true },
  { name: 'log-level', value: 'LEVEL', description: 'trace, debug, info, warn, error or silent', default: 'warn' },
];

const unbuilt = partNames.filter((name) => !builtParts.has(name)).join(', ');

/** The flags of `up`. */
export const upFlags: readonly Flag[] = [
  { name: 'cluster', value: 'NAME', description: 'a cluster to run', repeatable: true, default: 'east and west' },
  {
    name: 'service-cluster-ip-range',
    value: 'CIDR[@NAME]',
    description: 'cluster IPs, one CIDR or an IPv4,IPv6 pair, of every cluster or of one',
    repeatable: true,
    default: '127.64.0.0/16, 127.65.0.0/16, …',
  },
  {
    name: 'apply',
    value: 'PATH[@NAME]',
    description: 'manifests, a file or a directory, to apply to every cluster or to one',
    repeatable: true,
  },
  {
    name: 'demo',
    value: 'true|false',
    description: 'start some Pods as processes of this machine, Services before them, and say what to try',
    bare: 'true',
    default: 'false',
  },
  {
    name: 'parts',
    value: 'LIST',
    description: `which parts to run: ${[...builtParts].join(', ')}; ${unbuilt} (not yet)`,
    default: 'all',
  },
  {
    name: 'proxy',
    value: 'KIND',
    description: 'what makes connections arrive: userspace, nftables or none',
    default: 'userspace',
  },
  {
    name: 'port-base',
    value: 'N',
    description: 'API at N and up, DNS at N+100 and up, dashboard (not yet) at N+200; 0: any free',
  },
  ...serverFlags,
];
