import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown } from 'node:fs/promises';

import type { CommandOptions, Result } from './command.ts';
import { run } from './command.ts';
import { find } from './needs.ts';

const nobody = 65_534;
/** These users may read every file, since a checkout may belong to anybody; they have no other rights. */
const rights = ['inh-caps', 'ambient-caps', 'bounding-set'].map((kind) => `--${kind}=-all,+dac_read_search`);

/** Why programs cannot run as nobody in a network namespace; undefined if they can. */
export function whyNotNobody(): readonly string[] {
  const missing = ['ip', 'setpriv'].filter((program) => find(program) === undefined);
  if (missing.length > 0) return missing.map((program) => `${program} is not installed`);
  return process.getuid?.() === 0 ? [] : ['root must make network namespaces'];
}

/**
 * A network namespace in which all ports are free. Programs run in it as a user without rights, with loopback addresses
 * only, or as root, with the interface eth0 as on a machine with a network. Disposing of it kills its remaining programs
 * and deletes it.
 */
export class NobodysNetwork implements Disposable {
  readonly #name = `fl-nobody-${randomBytes(4).toString('hex')}`;
  readonly #asRoot: boolean;

  constructor({ asRoot = false }: { readonly asRoot?: boolean } = {}) {
    this.#asRoot = asRoot;
    ip('netns', 'add', this.#name);
    ip('-n', this.#name, 'link', 'set', 'lo', 'up');
    if (asRoot) this.#addInterface();
  }

  /** The prefix of a command line that runs a program in the namespace. */
  get within(): readonly [string, ...string[]] {
    const ids = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--no-new-privs'];
    const inside = ['ip', 'netns', 'exec', this.#name] as const;
    return this.#asRoot ? [...inside] : [...inside, 'setpriv', ...ids, ...rights, '--'];
  }

  /** Runs a program in the namespace until it exits. */
  run(words: readonly string[], options?: CommandOptions): Promise<Result> {
    const [file, ...args] = [...this.within, ...words];
    return run(file, args, options);
  }

  #addInterface(): void {
    const here = ['-n', this.#name] as const;
    ip(...here, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'far');
    ip(...here, 'address', 'add', '192.0.2.1/24', 'dev', 'eth0');
    for (const name of ['eth0', 'far']) ip(...here, 'link', 'set', name, 'up');
    ip(...here, 'route', 'add', 'default', 'dev', 'eth0');
  }

  /** Allows all users in the namespace to listen on any port, as an administrator can. */
  freeLowPorts(): void {
    ip('netns', 'exec', this.#name, 'sysctl', '-qw', 'net.ipv4.ip_unprivileged_port_start=0');
  }

  [Symbol.dispose](): void {
    for (const pid of ip('netns', 'pids', this.#name).split('\n').map(Number).filter(Boolean)) kill(pid);
    ip('netns', 'delete', this.#name);
  }
}

/** Changes the owner of a folder, so that programs of nobody can write to it. */
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
