import type { DashboardOptions } from '../../dashboard/options.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { readFlag } from '../options/flags.ts';
import { parseListenAddress } from '../options/values.ts';
import type { LoadPart, Part } from '../part/part.ts';

const defaultListen = { host: '127.0.0.1', port: 8080 };

const flags: readonly Flag[] = [
  {
    name: 'listen',
    value: 'ADDR:PORT',
    description: 'address of the page',
    default: '127.0.0.1:8080, or the next free port',
  },
];

/** `fairlead dashboard`: serves the map. */
export const part: Part = {
  name: 'dashboard',
  description:
    'Serve the map: a live page of clusters, Services and the connections between them. It reads any Kubernetes and writes nothing. ' +
    'Open the printed address: it contains a secret that signs your browser in.',
  examples: ['fairlead dashboard --kubeconfig prod.kubeconfig', 'fairlead dashboard --context eu --context us'],
  health: 10_361,
  flags,
  isForSeveral: true,
  isOneForAll: true,
  alone: (settings) => load(listenOf(settings, nextFree), { portFlag: '--listen', isEager: true }),
  inUp: ({ settings = new Map(), dashboardPorts = nextFree }) =>
    load(listenOf(settings, dashboardPorts), { portFlag: '--port-base', isEager: false }),
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
  (listen: DashboardOptions['listen'], options: Pick<DashboardOptions, 'portFlag' | 'isEager'>): LoadPart =>
  async () => {
    const { startDashboard } = await import('../../dashboard/dashboard.ts');
    return (context) => {
      const clusters = Array.from(context.peers ?? [], ([name, peer]) => ({ name, ...peer }));
      return startDashboard(context, { ...options, clusters, listen });
    };
  };
