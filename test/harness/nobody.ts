import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown } from 'node:fs/promises';

import type { CommandOptions, Result } from './command.ts';
import { run } from './command.ts';
import { find } from './needs.ts';

const nobody = 65_534;
/** They may read every file, since a checkout may be somebody's own; beyond that they have no rights at all. */
const rights = ['inh-caps', 'ambient-caps', 'bounding-set'].map((kind) => `--${kind}=-all,+dac_read_search`);

/** Why programs cannot be run as nobody in a network of their own, if they cannot. */
export function whyNotNobody(): readonly string[] {
  const missing = ['ip', 'setpriv'].filter((program) => find(program) === undefined);
  if (missing.length > 0) return missing.map((program) => `${program} is not installed`);
  return process.getuid?.() === 0 ? [] : ['root must make network namespaces'];
}

/**
 * A network namespace with loopback addresses only. Programs run in it as a user without rights, or as root, and find all
 * ports free. Disposing of it kills what still runs in it and deletes it.
 */
export class NobodysNetwork implements Disposable {
  readonly #name = `fl-nobody-${randomBytes(4).toString('hex')}`;
  readonly #asRoot: boolean;

  constructor({ asRoot = false }: { readonly asRoot?: boolean } = {}) {
    this.#asRoot = asRoot;
    ip('netns', 'add', this.#name);
    ip('-n', this.#name, 'link', 'set', 'lo', 'up');
  }

  /** The beginning of a command line that runs a program in it. */
  get within(): readonly [string, ...string[]] {
    const ids = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--no-new-privs'];
    const inside = ['ip', 'netns', 'exec', this.#name] as const;
    return this.#asRoot ? [...inside] : [...inside, 'setpriv', ...ids, ...rights, '--'];
  }

  /** Runs a program in it, to its end. */
  run(words: readonly string[], options?: CommandOptions): Promise<Result> {
    const [file, ...args] = [...this.within, ...words];
    return run(file, args, options);
  }

  /** Lets everybody in it listen at any port, as an administrator of a machine may decide. */
  freeLowPorts(): void {
    ip('netns', 'exec', this.#name, 'sysctl', '-qw', 'net.ipv4.ip_unprivileged_port_start=0');
  }

  [Symbol.dispose](): void {
    for (const pid of ip('netns', 'pids', this.#name).split('\n').map(Number).filter(Boolean)) kill(pid);
    ip('netns', 'delete', this.#name);
  }
}

/** Gives a folder away, so that programs of nobody can write to it. */
export const giveToNobody = (path: string): Promise<void> => chown(path, nobody, nobody);

/** Kills a process that may have ended already. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function ip(...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}
