import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { familyOf } from '../../../api/addresses.ts';
import { messageOf } from '../../../api/error-message.ts';

const execute = promisify(execFile);

/** Changes the addresses of a network interface with `ip` of iproute2. */
export class NetworkInterface {
  readonly name: string;
  readonly #lifetimeSeconds: number;

  /** The kernel removes addresses that are not added again within their lifetime. */
  constructor(name: string, lifetimeMs: number) {
    this.name = name;
    this.#lifetimeSeconds = Math.ceil(lifetimeMs / 1000);
  }

  /** Adds addresses, or renews their lifetime. */
  async add(addresses: readonly string[]): Promise<void> {
    const life = `valid_lft ${this.#lifetimeSeconds} preferred_lft ${this.#lifetimeSeconds}`;
    try {
      await this.#batch(addresses.map((address) => `address replace ${hostPrefix(address)} dev ${this.name} ${life}`));
    } catch (error) {
      const what = addresses.length === 1 ? addresses[0] : `${addresses.length} addresses`;
      throw new Error(`cannot announce ${what} on interface ${this.name}: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Removes addresses; succeeds if they do not exist. */
  async remove(addresses: readonly string[]): Promise<void> {
    const lines = addresses.map((address) => `address delete ${hostPrefix(address)} dev ${this.name}`);
    await this.#batch(lines, ['-force']).catch((error: unknown) => {
      if (!messageOf(error).includes('Cannot assign requested address')) throw error;
    });
  }

  async #batch(lines: readonly string[], flags: readonly string[] = []): Promise<void> {
    if (lines.length === 0) return;
    const running = execute('ip', [...flags, '-batch', '-'], { timeout: 30_000 });
    running.child.stdin?.on('error', () => undefined).end(`${lines.join('\n')}\n`);
    try {
      await running;
    } catch (error) {
      // A cast to the additional fields of errors of execFile.
      const { stderr = '', code } = error as { stderr?: string; code?: string | number };
      if (code === 'ENOENT') throw new Error('the command `ip` was not found: install iproute2', { cause: error });
      // The error of `ip` without the line about the batch.
      const [firstLine = ''] = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('Command failed'));
      throw new Error(firstLine.trim() || messageOf(error), { cause: error });
    }
  }
}

/** The address as a host prefix. */
const hostPrefix = (address: string): string => `${address}/${familyOf(address) === 'IPv6' ? 128 : 32}`;
