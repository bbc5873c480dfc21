import { chmod, cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

import { until } from '../../src/server/testing/until.ts';
import { findKubectls } from './kubectl.ts';
import { giveToNobody, NobodysNetwork } from './nobody.ts';
import { FairleadProcess, root } from './process.ts';
import type { Step } from './transcript.ts';
import { parseWords } from './transcript.ts';

/** The commands that run until they are stopped; their actions end by themselves. */
const longRunning =
  /^npm start\b|^npx fairlead (?:up|server|controllers|dns|proxy|loadbalancer|multicluster|reaper|publisher|dashboard|run)(?! (?:query|import-corefile|routes|cleanup|orphans|plan)\b)(?!.*--help)/;

/**
 * A checkout of the repository in which the commands of one page are run, in a network namespace, by a user without
 * rights. Commands that run until they are stopped are started, and only their output without the log is compared. A second command of
 * the same kind or with the same data directory replaces the first.
 */
export class Checkout implements AsyncDisposable {
  readonly #network: NobodysNetwork;
  readonly #folder: string;
  readonly #env: Record<string, string>;
  /** Kind of a process, or its data directory → the process. */
  readonly #processes = new Map<string, FairleadProcess>();

  private constructor(folder: string, asRoot: boolean) {
    this.#folder = folder;
    this.#network = new NobodysNetwork({ asRoot });
    this.#env = {
      PATH: [join(folder, 'programs'), process.env['PATH'], '/usr/sbin', '/sbin'].join(delimiter),
      HOME: folder,
      KUBECONFIG: join(folder, '.fairlead', 'kubeconfig'),
    };
  }

  static async open(folder: string, { asRoot }: { readonly asRoot: boolean }): Promise<Checkout> {
    const [kubectl] = await findKubectls();
    const programs = join(folder, 'programs');
    await mkdir(programs);
    await cp(join(root, 'examples'), join(folder, 'examples'), { recursive: true });
    await symlink(kubectl?.path ?? '', join(programs, 'kubectl'));
    await symlink(process.execPath, join(programs, 'node'));
    const fairlead = `#!/bin/sh\nshift\nexec '${process.execPath}' '${join(root, 'bin', 'fairlead.js')}' "$@"\n`;
    await writeFile(join(programs, 'npx'), fairlead);
    await chmod(join(programs, 'npx'), 0o755);
    if (!asRoot) await giveToNobody(folder);
    return new Checkout(folder, asRoot);
  }

  /** Runs a command and returns its output. */
  async run({ text, input, isLiteral }: Step): Promise<string> {
    if (longRunning.test(text)) return this.#start(text);
    // Rules are removed when the proxy has ended.
    if (text.startsWith('npx fairlead proxy cleanup')) await this.#processes.get('proxy')?.stop();
    const [, name, value] = /^export (\w+)=(\S+)$/.exec(text) ?? [];
    if (name !== undefined && value !== undefined) {
      this.#env[name] = value.replace('$PWD', this.#folder);
      return '';
    }
    const command = withoutProgress(text) + (isLiteral ? '' : ` <<EOF\n${input}EOF`);
    const options = { cwd: this.#folder, env: this.#env, input: isLiteral ? input : '' };
    const { out, err } = await this.#network.run(['bash', '-c', command], options);
    return this.#shown(`${err}\n${out}`);
  }

  async #start(text: string): Promise<string> {
    const isDemo = text.startsWith('npm start');
    const words = parseWords(text.replace(/ +#.*$/, '')).slice(isDemo ? 3 : 2);
    const args = isDemo ? ['up', '--demo', ...words] : words;
    const [command = ''] = args;
    const directory = /--data-dir[= ](\S+)/.exec(text)?.[1] ?? '.fairlead';
    const key = command === 'up' || command === 'server' ? directory : command;
    await this.#processes.get(key)?.stop();
    const within = this.#network.within;
    const running = new FairleadProcess(args, { within, cwd: this.#folder, env: this.#env });
    this.#processes.set(key, running);
    if (command === 'run') {
      await until('the endpoint is ready', async () => running.err.includes('ready: '));
      return this.#shown(running.err); // its output is that of its command
    }
    await running.prints(isDemo ? /old-shop\.demo.*\n$/ : /\bready in /);
    return this.#shown(running.out);
  }

  /** In the documentation the checkout is in the reader's current folder. */
  #shown(text: string): string {
    return text.replaceAll(this.#folder, '/home/you/fairlead');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Parts are stopped before the servers that they use.
    for (const running of [...this.#processes.values()].toReversed()) await running.stop('SIGKILL');
    this.#network[Symbol.dispose]();
  }
}

/** On a terminal curl prints its progress between the lines of the output. */
const withoutProgress = (text: string): string => text.replaceAll(/\bcurl (?=http|-)/g, 'curl -sS ');
