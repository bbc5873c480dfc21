import { join, resolve } from 'node:path';
import { parseCidr } from '../../api/addresses.ts';
import type { AgentOptions, PodNetwork } from '../../agent/options.ts';
import { parseQuantity } from '../../api/quantity.ts';
import { regionLabel, zoneLabel } from '../../api/kinds/core/node/labels.ts';
import { parseImageMapping } from '../../agent/pods/images.ts';
import { nodePrefix, nodesGroup } from '../../server/access/node/identity.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { booleanFlag, grouped, readFlag, readFlags, textOf } from '../options/flags.ts';
import {
  countBetween,
  expected,
  nonEmpty,
  oneOf,
  parseAddress,
  parseBoolean,
  parseListenAddress,
} from '../options/values.ts';
import type { LoadPart, Part, UpCluster } from '../part/part.ts';
import { indexOf } from '../part/part.ts';
import { version } from '../program.ts';
import { firstAddress, processEnvironment } from './machine.ts';
import { nodeNameOf } from './node-name.ts';
import { register } from './register.ts';
import { defaultRanges } from '../up/ranges.ts';

const networkModes = ['loopback', 'host', 'netns'] as const;
const defaultMaxPods = 110;

const rootDirFlag: Flag = {
  name: 'root-dir',
  value: 'DIR',
  description: 'directory of the state, logs and volumes of Pods; for one agent',
  default: '/var/lib/fairlead/agent as root, otherwise ~/.local/state/fairlead/agent',
};

const flags: readonly Flag[] = [
  { name: 'node-name', value: 'NAME', description: 'name of the Node', default: 'the host name' },
  {
    name: 'node-ip',
    value: 'IP',
    description: 'address of the machine, reported as InternalIP',
    default: 'the first address that is not loopback',
  },
  { name: 'node-labels', value: 'KEY=VALUE', description: 'a label of the Node', repeatable: true },
  { name: 'zone', value: 'NAME', description: `the label ${zoneLabel} of the Node` },
  { name: 'region', value: 'NAME', description: `the label ${regionLabel} of the Node` },
  rootDirFlag,
  { name: 'max-pods', value: 'N', description: 'maximum number of Pods', default: String(defaultMaxPods) },
  {
    name: 'image-map',
    value: 'IMAGE=PATH',
    description:
      'run this program, or programs of this directory, for an image; a name without a tag stands for all tags. ' +
      'Words after the path are the arguments of containers without any; the first one after a directory is its program',
    repeatable: true,
  },
  {
    name: 'container-log-max-size',
    value: 'SIZE',
    description: 'size at which the log of a container is rotated',
    default: '10Mi',
  },
  {
    name: 'container-log-max-files',
    value: 'N',
    description: 'log files of a container, 2 or more',
    default: '5',
  },
  {
    name: 'allow-root',
    ...booleanFlag,
    description: 'run as root: users who can create Pods can then run programs as root',
  },
  {
    name: 'allow-host-path',
    ...booleanFlag,
    description: 'run Pods with hostPath volumes',
  },
  ...grouped('Server for logs, exec and port-forward', [
    {
      name: 'listen',
      value: 'ADDR:PORT',
      description: 'where API servers reach the agent; the Node reports the port, and 0 is any free one',
      default: '0.0.0.0:10250; in `up` 127.0.0.1:0',
    },
    { name: 'tls-cert-file', value: 'FILE', description: 'certificate', default: 'one that the agent signs itself' },
    { name: 'tls-private-key-file', value: 'FILE', description: 'key of --tls-cert-file' },
  ]),
  ...grouped('Network of Pods', [
    {
      name: 'pod-network',
      value: 'MODE',
      description:
        'addresses of Pods: that of the machine (host), a loopback address for each, which only this machine reaches, or a ' +
        'network namespace for each (netns): it needs root, and gives each container a root directory of its own',
      choices: networkModes,
      default: 'host',
    },
    {
      name: 'pod-cidr',
      value: 'CIDR',
      description: 'range of addresses of Pods for --pod-network loopback and netns',
      default: `${defaultRanges(0).pods} for loopback; spec.podCIDR of the Node for netns`,
    },
    {
      name: 'cluster-dns',
      value: 'IP',
      description: 'DNS server in resolv.conf of Pods with --pod-network netns',
      default: 'the cluster IP of the Service kube-system/kube-dns',
      repeatable: true,
    },
    {
      name: 'cluster-domain',
      value: 'NAME',
      description: 'domain of the cluster in resolv.conf of Pods',
      default: 'cluster.local',
    },
  ]),
];

/** `fairlead agent`: this machine as a Node. */
export const part: Part = {
  name: 'agent',
  description:
    'Make this machine a Node: run the Pods that are bound to it as processes, check their health and report their status. ' +
    'Users who can create Pods in the cluster can run programs as the user of the agent.',
  examples: [
    'fairlead user add node-1 --node',
    'fairlead agent --kubeconfig node-1.kubeconfig --node-name node-1',
    'fairlead agent --kubeconfig node-1.kubeconfig --zone rack-7 --pod-network loopback',
    "fairlead agent --kubeconfig node-1.kubeconfig --image-map 'web=/srv/web bin/serve --port 8080'",
  ],
  health: 10_248,
  flags,
  actions: { register: register(rootDirFlag, () => defaultDirectory(process.getuid?.() === 0)) },
  alone: (settings) => load(() => optionsAlone(settings)),
  inUp: (cluster) => load(() => optionsInUp(cluster)),
  userInUp: ({ settings = new Map() }) => ({
    name: `${nodePrefix}${nodeNameOf(settings)}`,
    groups: [nodesGroup],
  }),
};

const load = (optionsOf: () => Omit<AgentOptions, 'clientCa'>): LoadPart => {
  const options = optionsOf();
  return async () => {
    const { startAgent } = await import('../../agent/agent.ts');
    return (context) => startAgent(context, { ...options, clientCa: context.authorities?.() });
  };
};

function optionsAlone(settings: Settings): Omit<AgentOptions, 'clientCa'> {
  const isRoot = process.getuid?.() === 0;
  if (isRoot && !readFlag(settings, 'allow-root', parseBoolean, false)) {
    throw new UsageError('the agent would run Pods as root: start it as another user, or pass --allow-root');
  }
  const mode = readFlag(settings, 'pod-network', oneOf(networkModes), 'host');
  return {
    ...common(settings),
    addresses: [readFlag(settings, 'node-ip', parseAddress, firstAddress())],
    listen: listenOf(settings, { address: '0.0.0.0', port: 10_250 }),
    directory: resolve(readFlag(settings, 'root-dir', nonEmpty('a path'), defaultDirectory(isRoot))),
    network: networkOf(mode, settings, defaultRanges(0).pods),
    stopsPods: false,
  };
}

/** In `up` Pods end with the agent, and have loopback addresses. */
function optionsInUp(cluster: UpCluster): Omit<AgentOptions, 'clientCa'> {
  const { settings = new Map(), name, dataDir = '.' } = cluster;
  const mode = readFlag(settings, 'pod-network', oneOf(networkModes), 'loopback');
  const directory = textOf(settings, 'root-dir');
  return {
    ...common(settings),
    addresses: [readFlag(settings, 'node-ip', parseAddress, '127.0.0.1')],
    listen: listenOf(settings, { address: '127.0.0.1', port: 0 }),
    directory: resolve(directory === undefined ? join(dataDir, 'agent', name) : join(directory, name)),
    network: networkOf(mode, settings, defaultRanges(indexOf({ ...cluster, name })).pods),
    stopsPods: true,
  };
}

type CommonOptions = Pick<
  AgentOptions,
  'logLimits' | 'nodeName' | 'labels' | 'images' | 'tls' | 'allowsHostPaths' | 'maxPods' | 'version' | 'environment'
>;

function common(settings: Settings): CommonOptions {
  const [zone, region] = [textOf(settings, 'zone'), textOf(settings, 'region')];
  return {
    nodeName: nodeNameOf(settings),
    labels: {
      ...Object.fromEntries(readFlags(settings, 'node-labels', parseLabel)),
      ...(zone === undefined ? {} : { [zoneLabel]: zone }),
      ...(region === undefined ? {} : { [regionLabel]: region }),
    },
    images: new Map(readFlags(settings, 'image-map', parseImageMapping)),
    tls: tlsOf(settings),
    logLimits: {
      maxBytes: readFlag(settings, 'container-log-max-size', parseBytes, 10 << 20),
      maxFiles: readFlag(settings, 'container-log-max-files', countBetween(2, 1000), 5),
    },
    allowsHostPaths: readFlag(settings, 'allow-host-path', parseBoolean, false),
    maxPods: readFlag(settings, 'max-pods', countBetween(1, 10_000), defaultMaxPods),
    version,
    environment: processEnvironment(process.env),
  };
}

function listenOf(settings: Settings, fallback: AgentOptions['listen']): AgentOptions['listen'] {
  const { host: address, port } = readFlag(settings, 'listen', parseListenAddress, {
    host: fallback.address,
    port: fallback.port,
  });
  return { address, port };
}

function tlsOf(settings: Settings): AgentOptions['tls'] {
  const [certFile, keyFile] = [textOf(settings, 'tls-cert-file'), textOf(settings, 'tls-private-key-file')];
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  if (certFile === undefined && keyFile === undefined) return undefined;
  throw new UsageError('--tls-cert-file and --tls-private-key-file belong together: pass both');
}

function networkOf(mode: (typeof networkModes)[number], settings: Settings, range: string): PodNetwork {
  if (mode === 'host') return { mode };
  if (mode === 'loopback') return { mode, cidr: readFlag(settings, 'pod-cidr', parseRange, range) };
  if (process.getuid?.() !== 0)
    throw new UsageError(
      '--pod-network netns creates network namespaces and needs root: run the agent as root with --allow-root',
    );
  return {
    mode,
    cidr: readFlag<string | undefined>(settings, 'pod-cidr', parseRange, undefined),
    clusterDns: readFlags<string>(settings, 'cluster-dns', parseAddress),
    clusterDomain: readFlag(settings, 'cluster-domain', nonEmpty('a domain'), 'cluster.local'),
  };
}

function parseBytes(text: string): number {
  const { nano } = parseQuantity(text);
  const bytes = Number(nano / 1_000_000_000n);
  return bytes >= 1024 ? bytes : expected('a size of at least 1Ki, such as 10Mi');
}

function parseLabel(text: string): readonly [string, string] {
  const equals = text.indexOf('=');
  return equals < 1 ? expected('KEY=VALUE') : [text.slice(0, equals), text.slice(equals + 1)];
}

const parseRange = (text: string): string =>
  parseCidr(text) === undefined ? expected('a CIDR such as 127.192.0.0/16') : text;

function defaultDirectory(isRoot: boolean): string {
  if (isRoot) return '/var/lib/fairlead/agent';
  const { XDG_STATE_HOME, HOME = '.' } = process.env;
  return join(XDG_STATE_HOME ?? join(HOME, '.local/state'), 'fairlead/agent');
}
