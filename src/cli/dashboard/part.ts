import { readFile } from 'node:fs/promises';
import { isLoopback } from '../../api/addresses.ts';
import { fileErrorOf } from '../../api/error-message.ts';
import type { DashboardOptions, ListenOptions } from '../../dashboard/options.ts';
import { FatalError, UsageError } from '../errors.ts';
import { mergeFlags } from '../multicluster/part.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag, textOf } from '../options/flags.ts';
import type { ListenAddress } from '../options/values.ts';
import { parseListenAddress } from '../options/values.ts';
import { partCluster, runningStates } from '../part/cluster-access.ts';
import type { LoadPart, Part, StartContext } from '../part/part.ts';
import type { Sources } from './sources.ts';
import { sourcesAlone, sourcesInUp } from './sources.ts';

const defaultListen = { host: '127.0.0.1', port: 7080 };

const flags: readonly Flag[] = [
  {
    name: 'listen',
    value: 'ADDR:PORT',
    description:
      'address of the page; one that others can reach requires a certificate, and people sign in with tokens',
    default: '127.0.0.1:7080, or the next free port',
  },
  {
    name: 'host',
    value: 'NAME',
    description: 'host name under which browsers reach the page, besides its addresses',
    repeatable: true,
  },
  { name: 'tls-cert-file', value: 'FILE', description: 'certificate of the page, PEM; read again every minute' },
  { name: 'tls-private-key-file', value: 'FILE', description: 'key of --tls-cert-file, PEM' },
  ...grouped('Plans of exports, as for `fairlead multicluster`', mergeFlags),
];

/** `fairlead dashboard`: serves the map. */
export const part: Part = {
  name: 'dashboard',
  description:
    'Serve the map: a live page of clusters, Services and the connections between them. It reads any Kubernetes and writes nothing. ' +
    'Open the printed address: it contains a secret that signs your browser in.',
  examples: ['fairlead dashboard --kubeconfig prod.kubeconfig', 'fairlead dashboard --context eu --context us'],
  health: 10_363,
  flags,
  isForSeveral: true,
  isOneForAll: true,
  alone: (settings) => async () => {
    const listen = listenOf(settings, nextFree);
    const states = await runningStates(partCluster(settings, process.env));
    return load({ listen, portFlag: '--listen', isEager: true }, (peers) => sourcesAlone(peers, states, settings))();
  },
  inUp(cluster) {
    const { settings = new Map(), dashboardPorts = nextFree } = cluster;
    const options = { listen: listenOf(settings, dashboardPorts), portFlag: '--port-base', isEager: false };
    return load(options, (peers) => sourcesInUp(cluster, peers));
  },
};

/** 7080 and the ports after it. */
const nextFree = Array.from({ length: 20 }, (_, index) => defaultListen.port + index);

function listenOf(settings: Settings, ports: readonly number[]): ListenOptions {
  const given = readFlag<ListenAddress | undefined>(settings, 'listen', parseListenAddress, undefined);
  const [certFile, keyFile] = [textOf(settings, 'tls-cert-file'), textOf(settings, 'tls-private-key-file')];
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new UsageError('--tls-cert-file and --tls-private-key-file require each other');
  if (given !== undefined && certFile === undefined && !isLoopback(given.host)) {
    throw new UsageError(
      `--listen ${given.host} can be reached by others, who sign in with tokens: pass --tls-cert-file and --tls-private-key-file`,
    );
  }
  return {
    ...(given === undefined ? { host: defaultListen.host, ports } : { host: given.host, ports: [given.port] }),
    names: (settings.get('host') ?? []).map((name) => name.toLowerCase()),
    ...(certFile === undefined || keyFile === undefined
      ? {}
      : { certificate: async () => ({ cert: await readPem(certFile), key: await readPem(keyFile) }) }),
  };
}

async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new FatalError(`${file}: ${fileErrorOf(cause)}`, { cause });
  }
}

const load =
  (
    options: Omit<DashboardOptions, keyof Sources>,
    sourcesOf: (peers: NonNullable<StartContext['peers']>) => Sources,
  ): LoadPart =>
  async () => {
    const { startDashboard } = await import('../../dashboard/dashboard.ts');
    return (context) => startDashboard(context, { ...options, ...sourcesOf(context.peers ?? new Map()) });
  };
