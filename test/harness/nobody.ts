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
 * A network that has nothing but loopback addresses, and nobody in it: programs run there without any rights, and meet no
 * others that hold their ports. It goes when it is disposed of.
 */
export class NobodysNetwork implements Disposable {
  readonly #name = `fl-nobody-${randomBytes(4).toString('hex')}`;

  constructor() {
    ip('netns', 'add', this.#name);
    ip('-n', this.#name, 'link', 'set', 'lo', 'up');
  }

  /** The beginning of a command line that runs a program in it. */
  get within(): readonly [string, ...string[]] {
    const ids = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--no-new-privs'];
    return ['ip', 'netns', 'exec', this.#name, 'setpriv', ...ids, ...rights, '--'];
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
    ip('netns', 'delete', this.#name);
  }
}

/** Gives a folder away, so that programs of nobody can write to it. */
export const giveToNobody = (path: string): Promise<void> => chown(path, nobody, nobody);

function ip(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr.trim()}`);
}
