import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';

import type { CommandOptions, Result, Running } from './command.ts';
import { run, start } from './command.ts';
import type { Fairlead } from './fairlead.ts';
import { startFairlead } from './fairlead.ts';
import { root } from './process.ts';
import type { Step } from './transcript.ts';

interface Kubeconfig {
  readonly clusters: readonly [{ readonly name: string; readonly cluster: { readonly server: string } }];
  readonly contexts: readonly [{ readonly context: object }];
}

/** A kubeconfig of another server to run the stories against, such as Kubernetes. */
const peer = process.env['FAIRLEAD_PEER_KUBECONFIG'];

/** A server, and the commands that are run against it. */
export class Session implements AsyncDisposable {
  readonly #folder: string;
  readonly #kubectl: string;
  #server: Fairlead | undefined;
  #url = '';
  /** The first cluster. */
  #cluster = '';
  #namespace = 'default';

  /** Keeps the data of the server and all other files in `folder`. */
  constructor(folder: string, kubectl: string) {
    this.#folder = folder;
    this.#kubectl = kubectl;
  }

  /** Starts the server with a command such as `['server']`; a running server is stopped first, and its data is kept. */
  async start(command: readonly string[], signal?: 'SIGKILL'): Promise<void> {
    await this.#server?.stop(signal);
    if (peer === undefined) this.#server = await startFairlead(join(this.#folder, 'data'), command);
    await this.use(this.#namespace);
  }

  /** The default namespace from now on. */
  async use(namespace: string): Promise<void> {
    this.#namespace = namespace;
    const config = load(await readFile(this.#server?.kubeconfig ?? peer ?? '', 'utf8')) as Kubeconfig;
    const [cluster] = config.clusters;
    this.#url = cluster.cluster.server;
    this.#cluster = cluster.name;
    const [first, ...others] = config.contexts;
    const contexts = [{ ...first, context: { ...first.context, namespace } }, ...others];
    await writeFile(join(this.#folder, 'kubeconfig'), JSON.stringify({ ...config, contexts }));
  }

  /** Runs one command of a story. */
  async run({ words: [program, ...args], env, input }: Step): Promise<Result> {
    if (program === 'kubectl') return this.kubectl(args, { env, input });
    if (program === 'curl') return this.#curl(args, input);
    if (program === 'dig') return this.#dig(args);
    if (program !== 'fairlead') throw new Error(`a story has kubectl, curl, dig and fairlead, not "${program}"`);
    if (args[0] === 'dns') return this.#fairlead(args);
    if (args[0] === 'mcs') return this.#fairlead([...args, '--data-dir', join(this.#folder, 'data')]);
    await this.start(args);
    return { out: '', err: '', code: 0 };
  }

  /** Runs kubectl as administrator, with a temporary home directory, so that nothing is cached across servers. */
  kubectl(args: readonly string[], options: CommandOptions = {}): Promise<Result> {
    return this.startKubectl(args, options).ended;
  }

  /** Starts a kubectl that runs until it is stopped, such as a watch. */
  startKubectl(args: readonly string[], options: CommandOptions = {}): Running {
    const own = { KUBECONFIG: join(this.#folder, 'kubeconfig'), HOME: this.#folder };
    return start(this.#kubectl, args, { cwd: root, ...options, env: { ...own, ...options.env } });
  }

  /** The last word is a path of the server. */
  async #curl(args: readonly string[], input: string): Promise<Result> {
    const pki = (name: string): string => join(this.#folder, 'data', 'pki', this.#cluster, name);
    const identity = ['--cacert', pki('ca.crt'), '--cert', pki('admin.crt'), '--key', pki('admin.key')];
    return run('curl', ['-sS', ...identity, ...args.slice(0, -1), `${this.#url}${args.at(-1)}`], { input });
  }

  /** Queries the DNS server of the first cluster. */
  #dig(args: readonly string[]): Promise<Result> {
    const [, address = '', port = ''] = /dns (\S+):(\d+)/.exec(this.#server?.process.out ?? '') ?? [];
    return run('dig', [`@${address}`, '-p', port, '+tries=1', '+time=5', ...args]);
  }

  /** Runs a command that exits by itself. */
  #fairlead(args: readonly string[]): Promise<Result> {
    const env = { KUBECONFIG: join(this.#folder, 'kubeconfig') };
    return run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...args], { env });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.stop();
  }
}
