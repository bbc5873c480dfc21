import { collectDefaultMetrics, Registry } from 'prom-client';
import { overHttps } from '../../client/https.ts';
import { retrying } from '../../client/retry.ts';
import type { LogLevel } from '../process/log.ts';
import { longRunning } from '../process/long-running.ts';
import type { Streams } from '../output.ts';
import { printTime } from '../output.ts';
import { version } from '../program.ts';
import type { Settings } from '../settings.ts';
import { returnMemoryWhenIdle } from '../process/idle-memory.ts';
import { listenForStop } from '../process/signals.ts';
import { readClusterAccess } from './cluster-access.ts';
import { serveHealth } from './health-server.ts';
import { printMetrics, startInstance } from './instance.ts';
import { followSettings } from './config-reloader.ts';
import type { HealthPlace, Part } from './part.ts';
import { countProbes } from './probe-counts.ts';

export interface AloneOptions {
  readonly part: Part;
  readonly settings: Settings;
  /** Reads the settings again, with this text in the configuration file. */
  readonly read: (text: string) => Promise<Settings>;
  readonly configFile: string | undefined;
  readonly health: readonly HealthPlace[];
  readonly logLevel: LogLevel;
  readonly streams: Streams;
}

/**
 * Runs a part against the cluster of a kubeconfig until a signal asks it to stop. A server that is away is waited for:
 * health is served meanwhile and says why nothing happens. The result is the exit code.
 */
export async function runAlone(options: AloneOptions): Promise<number> {
  const { part, settings, health, logLevel, streams } = options;
  using stop = listenForStop(process, (code) => process.exit(code));
  using running = await longRunning(logLevel);
  const { log } = running;
  using _memory = returnMemoryWhenIdle();
  using followed = followSettings({ path: options.configFile, first: settings, read: options.read, log });
  const load = part.alone(settings, followed.changes);
  const [access, start] = await Promise.all([readClusterAccess(settings, process.env), load()]);
  const processMetrics = new Registry();
  collectDefaultMetrics({ register: processMetrics });
  const server = access.server;
  await using stack = new AsyncDisposableStack();
  let isStopping = false;
  let wasReady = false;
  const urls: string[] = [];
  for (const place of health) {
    const listening = await serveHealth({
      ...place,
      problems: () => [...(isStopping ? ['it is stopping'] : []), ...instance.problems()],
      goesOn: () => wasReady && !isStopping,
      ...(place.probeMetrics === undefined ? {} : { onAnswer: countProbes(processMetrics, place.probeMetrics) }),
      metrics: () => printMetrics([processMetrics, running.metrics, ...instance.registries()]),
    });
    urls.push(stack.use(listening).url);
  }
  const instance = stack.use(
    startInstance({
      name: part.name,
      start,
      transport: retrying(overHttps(access, { userAgent: `fairlead-${part.name}/${version}` })),
      server,
      log,
    }),
  );
  const stopped = firing(stop.requested);
  streams.out(`fairlead ${version} ${part.name}
  cluster  ${server} (context ${access.context})
${urls.map((url) => `  health   ${url}/readyz\n`).join('')}`);
  const isReady = await Promise.race([instance.ready.then(() => true), stopped.then(() => false)]);
  wasReady = isReady;
  if (isReady) streams.out(`ready in ${printTime(performance.now())}\n`);
  await stopped;
  isStopping = true;
  return 0;
}

/** Resolves when the signal has fired. */
async function firing(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
