// A server, and an agent as a process of its own, driven by kubectl only.
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { until } from '../../src/server/testing/until.ts';
import type { CommandOptions, Result } from '../harness/command.ts';
import { run } from '../harness/command.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess, root } from '../harness/process.ts';

export const nodeName = 'machine-1';

/** The status of a Pod, as far as tests read it. */
export interface PodView {
  readonly metadata: { readonly uid: string; readonly deletionTimestamp?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly reason?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
    readonly containerStatuses?: readonly ContainerView[];
    readonly initContainerStatuses?: readonly ContainerView[];
  };
}

interface ContainerView {
  readonly name: string;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly containerID?: string;
  readonly state: {
    readonly running?: object;
    readonly waiting?: { readonly reason: string; readonly message?: string };
    readonly terminated?: { readonly exitCode: number; readonly reason: string; readonly message?: string };
  };
  readonly lastState: ContainerView['state'];
}

export interface StandOptions {
  /** Replaces the default network of Pods, loopback addresses. */
  readonly network?: readonly string[];
  /** The prefix of all command lines, to run in a network namespace. */
  readonly within?: readonly string[];
  /** Components of the server's process. */
  readonly parts?: string;
  /** Runs before the agent starts, with the directory of its state. */
  readonly prepare?: (state: string) => Promise<void>;
  /** Flags of the server's process. */
  readonly up?: readonly string[];
}

const loopback = ['--pod-network', 'loopback', '--pod-cidr', '127.192.0.0/16', '--node-ip', '127.0.0.1'];

/** A cluster with one machine. */
export class Stand implements AsyncDisposable {
  readonly directory: string;
  readonly #kubectl: string;
  readonly #flags: readonly string[];
  readonly #options: StandOptions;
  #server: Fairlead | undefined;
  #agent: FairleadProcess | undefined;

  private constructor(directory: string, kubectl: string, flags: readonly string[], options: StandOptions) {
    this.#options = options;
    this.directory = directory;
    this.#kubectl = kubectl;
    this.#flags = flags;
  }

  /** Starts a server with controllers, and an agent with these flags besides its own. */
  static async start(flags: readonly string[] = [], options: StandOptions = {}): Promise<Stand> {
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-agent-'));
    await chmod(directory, 0o711); // processes of other users have their directories in it
    const [kubectl] = await findKubectls();
    const stand = new Stand(directory, kubectl?.path ?? 'kubectl', flags, options);
    try {
      await stand.startServer();
      await stand.addNode(nodeName);
      await options.prepare?.(stand.state);
      await stand.startAgent();
      return stand;
    } catch (error) {
      await stand[Symbol.asyncDispose]();
      throw error;
    }
  }

  get #data(): string {
    return join(this.directory, 'data');
  }

  get kubeconfig(): string {
    return join(this.#data, 'kubeconfig');
  }

  /** The directory of the agent's state. */
  get state(): string {
    return join(this.directory, 'agent');
  }

  get agent(): FairleadProcess {
    if (this.#agent === undefined) throw new Error('the agent does not run');
    return this.#agent;
  }

  async startServer(): Promise<void> {
    const port = this.#server === undefined ? [] : ['--port-base', await this.#port()];
    const { parts = 'server,controllers', up = [], within = [] } = this.#options;
    const command = ['up', '--cluster', 'east', '--parts', parts, ...port, ...up];
    this.#server = await startFairlead(this.#data, command, { within });
  }

  /** Writes a kubeconfig for a machine, and returns its path. */
  async addNode(name: string): Promise<string> {
    const file = join(this.directory, `${name}.kubeconfig`);
    const args = ['user', 'add', name, '--node', '-o', file, '--data-dir', this.#data];
    const { code, err } = await run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args]);
    if (code !== 0) throw new Error(err);
    return file;
  }

  async #port(): Promise<string> {
    const config = await readFile(join(this.#data, 'kubeconfig'), 'utf8');
    return /https:\/\/127\.0\.0\.1:(\d+)/.exec(config)?.[1] ?? '0';
  }

  async stopServer(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#server?.stop(signal);
  }

  async startAgent(): Promise<void> {
    const own = [
      '--kubeconfig',
      join(this.directory, `${nodeName}.kubeconfig`),
      '--node-name',
      nodeName,
      '--root-dir',
      this.state,
    ];
    const { network = loopback, within = [] } = this.#options;
    const isRoot = process.getuid?.() === 0;
    const more = ['--health-port', '0', '--listen', '0.0.0.0:0', ...(isRoot ? ['--allow-root'] : []), ...this.#flags];
    this.#agent = new FairleadProcess(['agent', ...own, ...network, ...more], { within });
    await this.#agent.ready();
  }

  /** Ends the agent; its Pods continue. */
  async stopAgent(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#agent?.stop(signal);
  }

  /** The same command as a line for a shell. */
  kubectlLine(...args: readonly string[]): string {
    const all = [this.#kubectl, '--kubeconfig', join(this.#data, 'kubeconfig'), '--context', 'east', ...args];
    return all.map((word) => `'${word}'`).join(' ');
  }

  kubectl(...args: readonly string[]): Promise<Result> {
    return this.#run(args);
  }

  #run(args: readonly string[], options?: CommandOptions): Promise<Result> {
    const own = [this.#kubectl, '--kubeconfig', join(this.#data, 'kubeconfig'), '--context', 'east'];
    const [file = '', ...words] = [...(this.#options.within ?? []), ...own, ...args];
    return run(file, words, options);
  }

  /** Runs kubectl, which must succeed, and returns what it prints. */
  async must(...args: readonly string[]): Promise<string> {
    const { code, out, err } = await this.kubectl(...args);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${err}${out}`);
    return out;
  }

  /** Creates objects from values. */
  async create(...objects: readonly object[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    const { code, err } = await this.#run(['create', '-f', '-'], { input: JSON.stringify(list) });
    if (code !== 0) throw new Error(err);
  }

  /** The Pod; undefined: it does not exist. */
  async pod(name: string): Promise<PodView | undefined> {
    const { code, out } = await this.kubectl('get', 'pod', name, '-o', 'json');
    return code === 0 ? (JSON.parse(out) as PodView) : undefined;
  }

  /** Waits until the Pod fulfils a condition, and returns it. */
  async podUntil(name: string, what: string, isSo: (pod: PodView) => boolean): Promise<PodView> {
    let last: PodView | undefined;
    try {
      return await until(`Pod ${name} ${what}`, async () => {
        last = await this.pod(name);
        return last !== undefined && isSo(last) ? last : undefined;
      });
    } catch (error) {
      throw new Error(`${String(error)}: ${JSON.stringify(last?.status)}\n${this.agent.err}`, { cause: error });
    }
  }

  /** Ends all Pods and processes. */
  async stop(): Promise<void> {
    // The agent is killed and not its Pods: so their objects are deleted first.
    if (this.#agent?.hasEnded === false && this.#server?.process.hasEnded === false) {
      await this.kubectl('delete', 'pods', '--all', '--all-namespaces', '--grace-period=0', '--force');
      await until('all Pods have ended', async () => (await this.#records()) === 0, 20_000).catch(() => undefined);
    }
    await this.#agent?.stop('SIGKILL');
    await this.#server?.stop('SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  async #records(): Promise<number> {
    return (await readdir(join(this.state, 'pods')).catch((): string[] => [])).length;
  }
}

/** A Pod on the machine. */
export const podObject = (name: string, spec: object, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { nodeName, terminationGracePeriodSeconds: 5, ...spec },
});

/** A container that runs a program of the machine. */
export const processContainer = (name: string, command: readonly string[], more: object = {}): object => ({
  name,
  image: 'process',
  command,
  ...more,
});

export const isReady = ({ status }: PodView): boolean =>
  status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

/** Whether a process exists that is not a zombie. */
export async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && !/\) Z /.test(stat);
}
