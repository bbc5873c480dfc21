import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import type { Command } from './commands.ts';

const agentFile = fileURLToPath(new URL('agent.ts', import.meta.url));

/** Runs `ip`; throws its error output. */
export function ip(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr.trim()}`);
}

/** A network namespace with an agent. Disposing of it deletes it with everything in it. */
export class Namespace implements AsyncDisposable {
  readonly name: string;
  readonly #waiting = new Map<number, PromiseWithResolvers<readonly string[]>>();
  #agent: ChildProcess | undefined;
  #next = 0;

  constructor(name: string) {
    this.name = name;
    ip('netns', 'add', name);
    ip('-n', name, 'link', 'set', 'lo', 'up');
  }

  /** The command line that runs a program inside. */
  within(program: string): readonly [string, ...string[]] {
    return ['ip', 'netns', 'exec', this.name, program];
  }

  /** Runs a program inside until it exits, and returns its output. */
  run(program: string, ...args: readonly string[]): string {
    const { stdout, stderr, status } = spawnSync('ip', ['netns', 'exec', this.name, program, ...args], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr.trim()}`);
    return stdout;
  }

  /** Sends a command to the agent. */
  execute(command: Command): Promise<readonly string[]> {
    this.#agent ??= this.#start();
    const id = this.#next++;
    const answered = Promise.withResolvers<readonly string[]>();
    this.#waiting.set(id, answered);
    this.#agent.stdin?.write(`${JSON.stringify({ id, command })}\n`);
    return answered.promise;
  }

  /** Connects once or more, one after the other. A test that expects silence sets a timeout. */
  dial(address: string, port: number, { count = 1, timeoutMs = 10_000 } = {}): Promise<readonly string[]> {
    return this.execute({ do: 'dial', address, port, count, timeoutMs });
  }

  /** Sends a datagram from a socket of this name. */
  async send(id: string, address: string, port: number, { timeoutMs = 10_000 } = {}): Promise<string> {
    const [answer = ''] = await this.execute({ do: 'send', id, address, port, timeoutMs });
    return answer;
  }

  /** The number of connections and datagrams that its servers have received. */
  async received(): Promise<number> {
    const [count = ''] = await this.execute({ do: 'received' });
    return Number(count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const agent = this.#agent;
    if (agent !== undefined) {
      const ended = new Promise((resolve) => agent.once('exit', resolve));
      agent.stdin?.end();
      agent.kill('SIGKILL');
      await ended;
    }
    ip('netns', 'delete', this.name);
  }

  #start(): ChildProcess {
    const agent = spawn('ip', ['netns', 'exec', this.name, process.execPath, agentFile], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface({ input: agent.stdout }).on('line', (line) => {
      // A cast where bytes become a response: the other end is agent.ts.
      const { id, answers, error } = JSON.parse(line) as { id: number; answers?: readonly string[]; error?: string };
      const answered = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (answers === undefined) answered?.reject(new Error(error));
      else answered?.resolve(answers);
    });
    return agent;
  }
}
