// The public entry point of the package: clusters for tests, in the process of the test.
import { mkdtemp, readFile, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Registry } from 'prom-client';

import { installDefinitions, readDefinitions, webhookServer } from './cli/up/test-definitions.ts';
import type { Settings } from './cli/options/flags.ts';
import { openLog } from './cli/process/log.ts';
import { startControlPlane } from './cli/up/control-plane.ts';
import { holdDataDirectory } from './cli/up/data-directory.ts';
import { upFlags } from './cli/up/flags.ts';
import { applyTargets, readTargets } from './cli/up/manifest-targets.ts';
import { readUpOptions } from './cli/up/options.ts';
import { defaultRanges, maxClusters } from './cli/up/ranges.ts';

export interface WebhookOptions {
  /** ValidatingWebhookConfigurations and MutatingWebhookConfigurations: objects, files or directories. */
  readonly configurations?: readonly (string | object)[];
  /** The address on which the test serves its webhooks; default: 127.0.0.1. */
  readonly host?: string;
  /** Default: a free port. */
  readonly port?: number;
}

/** Where the API server calls the webhooks of the test, and the certificate that it expects there. */
export interface WebhookServer {
  readonly host: string;
  readonly port: number;
  /** The certificate and its key, PEM. */
  readonly cert: string;
  readonly key: string;
  /** The authority that signed the certificate, PEM. */
  readonly ca: string;
}

export interface ClusterOptions {
  /** The name of the cluster and of its context; default: `test`. */
  readonly name?: string;
  /** The parts to run beside the API server, as in `fairlead up --parts`; default: `controllers`. */
  readonly parts?: readonly string[];
  /** Feature gate → whether it is enabled. */
  readonly gates?: Readonly<Record<string, boolean>>;
  /** Manifests to apply before the promise resolves: files or directories. */
  readonly manifests?: readonly string[];
  /** CustomResourceDefinitions, which are served when the promise resolves: objects, files or directories. */
  readonly crds?: readonly (string | object)[];
  /** Webhooks of the test. */
  readonly webhooks?: WebhookOptions;
  /** Other flags of `fairlead up`, without the dashes: `{ 'service-cluster-ip-range': '10.0.0.0/24' }`. */
  readonly flags?: Readonly<Record<string, string>>;
}

/** A kubeconfig as an object. It is also what the file at `kubeconfigPath` contains, as JSON. */
export interface Kubeconfig {
  readonly apiVersion: 'v1';
  readonly kind: 'Config';
  readonly 'current-context': string;
  readonly clusters: readonly {
    readonly name: string;
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
  readonly contexts: readonly {
    readonly name: string;
    readonly context: { readonly cluster: string; readonly user: string };
  }[];
  readonly users: readonly {
    readonly name: string;
    readonly user: { readonly 'client-certificate-data': string; readonly 'client-key-data': string };
  }[];
}

/** A running cluster. `await using` stops it at the end of the scope. */
export interface Cluster extends AsyncDisposable {
  readonly name: string;
  /** The URL of the API server. */
  readonly server: string;
  /** For the administrator of the cluster. */
  readonly kubeconfig: Kubeconfig;
  /** A file with the kubeconfig, which is deleted when the cluster stops. */
  readonly kubeconfigPath: string;
  /** The address of the DNS server, if the part `dns` runs. */
  readonly dns: { readonly address: string; readonly port: number } | undefined;
  /** Where the test serves its webhooks; undefined without the option `webhooks`. */
  readonly webhooks: WebhookServer | undefined;
  /** Stops everything and deletes the data. Stopping twice is the same as stopping once. */
  stop(): Promise<void>;
}

/** Clusters of this process so far; each has a Service range of its own on the loopback interface. */
const ranges = { next: process.pid };

/**
 * Starts a cluster with an empty store in memory, in this process, on a free port. It is ready when the promise
 * resolves; wrong options reject it with the message that `fairlead up` prints.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { name = 'test' } = options;
  await using stack = new AsyncDisposableStack();
  const path = await makeDirectory();
  stack.defer(() => rm(path, { recursive: true, force: true }));
  const settings = readUpOptions(settingsOf({ ...options, name, path }));
  const manifests = await readTargets(settings.apply);
  const webhooks = options.webhooks === undefined ? undefined : await webhookServer(options.webhooks);
  const definitions = await readDefinitions('crds', options.crds ?? [], webhooks);
  const configurations = await readDefinitions('webhooks', options.webhooks?.configurations ?? [], webhooks);
  const directory = stack.use(await holdDataDirectory(path));
  const running = { ...stack.use(await openLog(settings.log)), metrics: new Registry() };
  const parts = [...settings.parts].filter((part) => part !== 'server');
  const plane = await startControlPlane({ ...settings, parts, portFlag: 'port-base' }, { directory, running, stack });
  await plane.ready();
  const [state] = plane.state().clusters;
  if (state === undefined) throw new Error('bug: no cluster was started');
  const problem = state.parts.find(({ problems }) => problems.length > 0);
  if (problem !== undefined) throw new Error(`${problem.name} is not ready: ${problem.problems.join(', ')}`);
  await installDefinitions(definitions, { name, connect: plane.connect });
  await applyTargets(manifests, { state: plane.state(), connect: plane.connect });
  await installDefinitions(configurations, { name, connect: plane.connect });
  const kubeconfigPath = directory.at('kubeconfig');
  const started = stack.move();
  return {
    name,
    server: state.server,
    // A cast where bytes become objects: this process wrote the file.
    kubeconfig: JSON.parse(await readFile(kubeconfigPath, 'utf8')) as Kubeconfig,
    kubeconfigPath,
    dns: state.dns,
    webhooks,
    stop: () => started.disposeAsync(),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

const memoryFileSystem = '/dev/shm';
const leastFreeBytes = 16 * 2 ** 20;

/**
 * Makes the directory of a cluster: in memory where the system has a file system there, because syncing keys to a disk takes
 * much of a start; otherwise, and where TMPDIR is set, in the directory for temporary files.
 */
async function makeDirectory(): Promise<string> {
  const prefix = 'fairlead-';
  if (process.env['TMPDIR'] === undefined) {
    try {
      const { bavail, bsize } = await statfs(memoryFileSystem);
      if (bavail * bsize >= leastFreeBytes) return await mkdtemp(join(memoryFileSystem, prefix));
    } catch {
      // There is none, or it is not writable.
    }
  }
  return mkdtemp(join(tmpdir(), prefix));
}

/** The options as flags of `up`. */
function settingsOf(options: ClusterOptions & { readonly name: string; readonly path: string }): Settings {
  const { name, path, parts = ['controllers'], gates = {}, manifests = [], flags = {} } = options;
  const index = ranges.next++ % maxClusters;
  const gateList = Object.entries(gates).map(([gate, enabled]) => `${gate}=${enabled}`);
  const own: Readonly<Record<string, readonly string[]>> = {
    cluster: [name],
    'data-dir': [path],
    store: ['memory'],
    'port-base': ['0'],
    'service-cluster-ip-range': [defaultRanges(index).services],
    'log-level': ['silent'],
    parts: [['server', ...parts.filter((part) => part !== 'server')].join(',')],
    'feature-gates': gateList,
    apply: manifests,
  };
  const unknown = Object.keys(flags).find((flag) => !upFlags.some((each) => each.name === flag));
  if (unknown !== undefined) throw new Error(`unknown flag "${unknown}": see \`fairlead up --help\``);
  const given = Object.entries(flags).map(([flag, value]) => [flag, [value]] as const);
  return new Map([...Object.entries(own).filter(([, values]) => values.length > 0), ...given]);
}
