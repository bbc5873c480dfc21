import { readFile } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { fileErrorOf } from '../../api/error-message.ts';
import { inProcess } from '../../client/in-process.ts';
import type { Transport } from '../../client/transport.ts';
import { descriptorShare } from '../../machine/descriptors.ts';
import type { StaticToken } from '../../server/access/identity/static-tokens.ts';
import { defaultLimits } from '../../server/limits/options.ts';
import { TimeSlicer } from '../../server/limits/time-slicer.ts';
import type { Pki } from '../../server/pki/pki.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { Streams } from '../output.ts';
import { parseTokenFile } from './token-file.ts';
import type { LongRunning } from '../process/long-running.ts';
import { longRunning } from '../process/long-running.ts';
import { ensureCertificates, followCertificates } from './certificates.ts';
import { ClusterParts, loadParts } from './cluster-parts.ts';
import type { DataDirectory } from './data-directory.ts';
import { holdDataDirectory } from './data-directory.ts';
import { openEncryption } from './encryption.ts';
import { kubeconfig } from './kubeconfig.ts';
import { openNodeOptions } from './node-flags.ts';
import type { ClusterOptions, ServerOptions } from './options.ts';
import type { PartName } from '../parts.ts';
import type { RunningServer } from './servers.ts';
import { returnMemoryWhenIdle } from '../process/idle-memory.ts';
import { openCluster, startCluster } from './servers.ts';
import { listenForStop } from '../process/signals.ts';
import type { Settings } from '../options/flags.ts';
import { textOf } from '../options/flags.ts';
import type { State } from './state.ts';
import { publishState } from './state.ts';

export interface ControlPlaneOptions extends ServerOptions {
  readonly clusters: readonly ClusterOptions[];
  /** The parts to run in each cluster beside its server. */
  readonly parts: readonly PartName[];
  /** Part → its section of the configuration file. */
  readonly partSettings?: ReadonlyMap<string, Settings>;
  readonly certificateNames?: { readonly dns: readonly string[]; readonly ips: readonly string[] };
  /** The flag that changes the ports, for errors. */
  readonly portFlag: string;
}

/** A running control plane. */
export interface ControlPlane {
  readonly directory: DataDirectory;
  readonly state: State;
  /** A transport to the server of a cluster, as its administrator. */
  readonly connect: (cluster: string) => Transport;
  /** Milliseconds from the start of the process until it was ready. */
  readonly readyMs: number;
}

export interface Hooks {
  /** Called when the servers answer, before any part starts. */
  readonly beforeParts?: (clusters: readonly string[], connect: ControlPlane['connect']) => Promise<void>;
  /** Called when everything is ready. The result is the report to print. */
  readonly prepare: (plane: ControlPlane) => Promise<string>;
  readonly out: Streams['out'];
}

/**
 * Runs a control plane until SIGINT or SIGTERM, and returns the exit code. In this order, undone in reverse: lock the data
 * directory, issue certificates, start the servers, write the kubeconfig, start the parts, call `prepare`, write
 * state.json, print the report that `prepare` returned.
 */
export async function runControlPlane(options: ControlPlaneOptions, hooks: Hooks): Promise<number> {
  using stop = listenForStop(process, (code) => process.exit(code));
  using running = await longRunning(options.log, options.clusters.length);
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(await holdDataDirectory(options.dataDir));
  const starting = await startControlPlane(options, { directory, running, stack, beforeParts: hooks.beforeParts });
  await Promise.race([starting.ready(), firstOf(stop.requested, directory.lost)]);
  const readyMs = performance.now();
  const plane = { directory, state: starting.state(), connect: starting.connect, readyMs };
  const report = stop.requested.aborted ? '' : await hooks.prepare(plane);
  stack.use(await publishState(directory, () => starting.state()));
  hooks.out(report);
  stack.use(returnMemoryWhenIdle());
  flushCompileCache(); // a process that is killed would not write it at exit
  await firstOf(stop.requested, directory.lost);
  if (!directory.lost.aborted) return 0;
  throw new FatalError(
    `lost the lock of data directory ${directory.path}: the directory was removed or replaced while in use`,
  );
}

/** A control plane whose servers answer and whose parts are starting. */
interface StartingControlPlane {
  readonly connect: ControlPlane['connect'];
  /** Its state now. */
  state(): State;
  /** Resolves when every part is ready or has failed once. */
  ready(): Promise<void>;
}

interface Dependencies {
  readonly directory: DataDirectory;
  readonly running: Pick<LongRunning, 'log' | 'metrics'>;
  /** Stops what was started. */
  readonly stack: AsyncDisposableStack;
  readonly beforeParts?: Hooks['beforeParts'];
}

/** Starts the servers and the parts of a control plane in this process. */
export async function startControlPlane(
  options: ControlPlaneOptions,
  dependencies: Dependencies,
): Promise<StartingControlPlane> {
  const { servers, parts } = await startServers(options, dependencies);
  const zones = zonesOf(options.partSettings?.get('dns'));
  return { connect: connectTo(servers), state: () => stateOf(servers, parts, zones), ready: () => parts.ready() };
}

async function startServers(
  options: ControlPlaneOptions,
  { directory, running, stack, beforeParts }: Dependencies,
): Promise<{ readonly servers: readonly RunningServer[]; readonly parts: ClusterParts }> {
  const { log } = running;
  const certificates = ensureCertificates(options, directory, log);
  const opening = allOrFirstError(
    options.clusters.map(async (cluster) => ({
      cluster,
      open: await openCluster(cluster, { ...options, directory, log, stack, certificates }),
    })),
  );
  const loading = loadParts(options.parts, options.clusters, {
    gates: options.gates.gates,
    settings: options.partSettings ?? new Map(),
    dataDir: options.dataDir,
  });
  const [opened, loaded, tokens, nodeClient, pkis] = await allOrFirstError([
    opening,
    loading,
    readTokens(options.tokenFile),
    openNodeOptions(options.nodes),
    certificates,
  ]);
  const encryption = await openEncryption(options.encryption, log, stack);
  for (const warning of options.gates.warnings) log.warn(warning);
  const parts = new ClusterParts(log);
  const moreMetrics = async (cluster: string): Promise<string> =>
    `\n${await running.metrics.metrics()}${await parts.metrics(cluster)}`;
  const share = descriptorShare(options.parts.length === 0 ? 'alone' : 'server', options.clusters.length);
  const limits = { ...options.limits, maxConnections: Math.min(share, defaultLimits.maxConnections) };
  const setup = {
    ...options,
    limits,
    slices: new TimeSlicer(),
    directory,
    pkis,
    gates: options.gates.gates,
    tokens,
    nodeClient,
    encryption,
    log,
    moreMetrics,
    stack,
  };
  const servers = await allOrFirstError(opened.map(({ cluster, open }) => startCluster(cluster, open, setup)));
  const publish = (certificates: ReadonlyMap<string, Pki>): Promise<void> => {
    const clusters = servers.flatMap(({ cluster: { name }, url }) => {
      const pki = certificates.get(name);
      return pki === undefined ? [] : [{ name, server: url, ca: pki.ca, pair: pki.admin }];
    });
    return directory.write('kubeconfig', kubeconfig({ clusters, user: 'admin' }));
  };
  await publish(pkis);
  stack.use(
    followCertificates({
      paths: [...pkis.keys()].map((cluster) => directory.at('pki', cluster)),
      log,
      async renew() {
        const next = await ensureCertificates(options, directory, log);
        for (const server of servers) {
          const pki = next.get(server.cluster.name);
          if (pki !== undefined) server.renew(pki);
        }
        await publish(next);
      },
    }),
  );
  await beforeParts?.(
    servers.map(({ cluster }) => cluster.name),
    connectTo(servers),
  );
  parts.setServers(servers);
  for (const server of servers) parts.start(server, loaded, stack);
  return { servers, parts };
}

/** Waits for all promises before it fails, so that everything that was started is on the stack that closes it. */
async function allOrFirstError<T extends readonly unknown[] | []>(
  promises: T,
): Promise<{ -readonly [Key in keyof T]: Awaited<T[Key]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** The user of the certificate in the kubeconfig. */
const administrator = { name: 'kubernetes-admin', uid: '', groups: ['system:masters', 'system:authenticated'] };

const connectTo =
  (servers: readonly RunningServer[]) =>
  (name: string): Transport => {
    const server = servers.find(({ cluster }) => cluster.name === name);
    if (server === undefined) throw new Error(`bug: no server of cluster "${name}" runs`);
    return inProcess((request) => server.handle(request, administrator));
  };

const stateOf = (servers: readonly RunningServer[], parts: ClusterParts, zones: readonly string[]): State => ({
  clusters: servers.map(({ cluster, url }) => {
    const dns = parts.dns(cluster.name);
    return {
      name: cluster.name,
      server: url,
      ...(dns === undefined ? {} : { dns }),
      zones: dns === undefined ? [] : zones,
      serviceCIDRs: cluster.serviceCidrs,
      parts: parts.states(cluster.name),
    };
  }),
  ...dashboardOf(parts),
  pid: process.pid,
});

function dashboardOf(parts: ClusterParts): Pick<State, 'dashboard'> {
  const dashboard = parts.dashboard();
  return dashboard === undefined ? {} : { dashboard };
}

/** The zones of the DNS servers. */
const zonesOf = (settings: Settings = new Map()): readonly string[] =>
  ['cluster', 'supercluster', 'clusterset']
    .map((zone) => textOf(settings, `${zone}-domain`) ?? `${zone}.local`)
    .filter((zone) => zone !== 'none');

async function readTokens(path: string | undefined): Promise<readonly StaticToken[]> {
  if (path === undefined) return [];
  try {
    return parseTokenFile(await readFile(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`--token-auth-file ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
}

/** Resolves when one of the signals has fired. */
async function firstOf(...signals: readonly AbortSignal[]): Promise<void> {
  const any = AbortSignal.any([...signals]);
  if (!any.aborted) await new Promise((resolve) => any.addEventListener('abort', resolve, { once: true }));
}
