import type { DashboardOptions } from '../../dashboard/options.ts';
import { UsageError } from '../errors.ts';
import { mergeFlags } from '../multicluster/part.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { grouped, readFlag } from '../options/flags.ts';
import { parseListenAddress } from '../options/values.ts';
import { partCluster, runningStates } from '../part/cluster-access.ts';
import type { LoadPart, Part, StartContext } from '../part/part.ts';
import type { Sources } from './sources.ts';
import { sourcesAlone, sourcesInUp } from './sources.ts';

const defaultListen = { host: '127.0.0.1', port: 8080 };

const flags: readonly Flag[] = [
  {
    name: 'listen',
    value: 'ADDR:PORT',
    description: 'address of the page',
    default: '127.0.0.1:8080, or the next free port',
  },
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

/** 8080 and the ports after it. */
const nextFree = Array.from({ length: 20 }, (_, index) => defaultListen.port + index);

function listenOf(settings: Settings, ports: readonly number[]): DashboardOptions['listen'] {
  const given = readFlag(settings, 'listen', parseLoopback, undefined);
  return given === undefined ? { host: defaultListen.host, ports } : { host: given.host, ports: [given.port] };
}

function parseLoopback(text: string) {
  const address = parseListenAddress(text);
  if (!/^(?:127\.[\d.]+|::1)$/.test(address.host)) throw new UsageError('expected a loopback address');
  return address;
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
