import { collectDefaultMetrics, Registry } from 'prom-client';
import { overHttps } from '../../client/https.ts';
import { retrying } from '../../client/retry.ts';
import type { LogOptions } from '../process/log.ts';
import { longRunning } from '../process/long-running.ts';
import type { Streams } from '../output.ts';
import { printTime } from '../output.ts';
import { version } from '../program.ts';
import type { Settings } from '../options/flags.ts';
import { returnMemoryWhenIdle } from '../process/idle-memory.ts';
import { listenForStop } from '../process/signals.ts';
import { partCluster, readClusterAccess } from './cluster-access.ts';
import { countProbes, serveHealth } from './health-server.ts';
import { printMetrics, startInstance } from './instance.ts';
import { followConfigFile } from './config-reloader.ts';
import type { HealthAddress, Part, Peer } from './part.ts';
import type { SelectedCluster } from './several-clusters.ts';
import { clientOf, clientWithToken, selectClusters } from './several-clusters.ts';

export interface RunPartOptions {
  readonly part: Part;
  readonly settings: Settings;
  /** Reads the settings again, with this text as the configuration file. */
  readonly reread: (text: string) => Promise<Settings>;
  readonly configFile: string | undefined;
  readonly health: readonly HealthAddress[];
  readonly log: LogOptions;
  readonly streams: Streams;
}

/**
 * Runs a part against the cluster of a kubeconfig until SIGINT or SIGTERM, and returns the exit code. Without a connection
 * to the API server it serves health, which reports the reason, and retries.
 */
export async function runPart(options: RunPartOptions): Promise<number> {
  const { part, settings, health, streams } = options;
  using stop = listenForStop(process, (code) => process.exit(code));
  using running = await longRunning(options.log);
  const { log } = running;
  using _memory = returnMemoryWhenIdle();
  using config = followConfigFile({ path: options.configFile, first: settings, read: options.reread, log });
  const load = part.alone(settings, config.changes);
  const [clusters, start] = await Promise.all([clustersOf(part, settings), load()]);
  const [{ access }] = clusters;
  const processMetrics = new Registry();
  collectDefaultMetrics({ register: processMetrics });
  const server = access.server;
  await using stack = new AsyncDisposableStack();
  let isStopping = false;
  let wasReady = false;
  const lines: string[] = [];
  for (const address of health) {
    const listening = await serveHealth({
      ...address,
      problems: () => [...(isStopping ? ['the process is stopping'] : []), ...instance.problems()],
      isServing: () => wasReady && !isStopping,
      ...(address.probeMetrics === undefined ? {} : { onAnswer: countProbes(processMetrics, address.probeMetrics) }),
      metrics: () => printMetrics([processMetrics, running.metrics, ...instance.registries()]),
    });
    lines.push(addressLine(address, stack.use(listening).url));
  }
  const instance = stack.use(
    startInstance({
      name: part.name,
      start,
      retriesFirstStart: false, // the process ends with the reason
      transport: retrying(overHttps(access, { userAgent: `fairlead-${part.name}/${version}` })),
      server,
      log,
      authorities: () => access.ca,
      ...(part.isForSeveral === true ? { peers: peersOf(clusters) } : {}),
    }),
  );
  const stopped = fired(stop.requested);
  streams.out(`fairlead ${version} ${part.name}
${clusters.map((cluster) => `  cluster  ${cluster.access.server} (context ${cluster.access.context})\n`).join('')}${lines.join('')}`);
  const isReady = await Promise.race([instance.ready.then(() => true), stopped.then(() => false)]);
  wasReady = isReady;
  if (isReady && instance.pageUrl !== undefined) streams.out(`  map      ${instance.pageUrl}\n`);
  if (isReady) streams.out(`ready in ${printTime(performance.now())}\n`);
  await stopped;
  isStopping = true;
  return 0;
}

/** The line about a health address, with the path that its flag is about. */
function addressLine({ flag }: HealthAddress, url: string): string {
  if (flag.startsWith('metrics')) return `  metrics  ${url}/metrics\n`;
  return flag.startsWith('ready') ? `  ready    ${url}/ready\n` : `  health   ${url}/readyz\n`;
}

type Clusters = readonly [SelectedCluster, ...SelectedCluster[]];

/** The cluster of the flags, or all of them for a part that runs for several. */
async function clustersOf(part: Part, settings: Settings): Promise<Clusters> {
  const found = partCluster(settings, process.env);
  const [first, ...others] = part.isForSeveral === true ? await selectClusters(settings, found, process.env) : [];
  if (first !== undefined) return [first, ...others];
  const access = await readClusterAccess(found, process.env);
  return [{ name: access.context, access }];
}

const peersOf = (clusters: Clusters): ReadonlyMap<string, Peer> =>
  new Map(
    clusters.map((cluster) => [
      cluster.name,
      {
        server: cluster.access.server,
        connect: () => clientOf(cluster),
        connectAs: (token) => clientWithToken(cluster, token),
      },
    ]),
  );

/** Resolves when the signal has fired. */
async function fired(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
