import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { familyOf } from '../../../api/addresses.ts';
import { messageOf } from '../../../api/error-message.ts';

const execute = promisify(execFile);

/** The addresses of a network interface, as `ip` of iproute2 changes them. */
export class NetworkInterface {
  readonly name: string;
  readonly #lifetimeSeconds: number;

  /** Addresses that are not added again within their lifetime are taken off by the kernel, whatever became of us. */
  constructor(name: string, lifetimeMs: number) {
    this.name = name;
    this.#lifetimeSeconds = Math.ceil(lifetimeMs / 1000);
  }

  /** Adds addresses, or lets those that are there live on. */
  async add(addresses: readonly string[]): Promise<void> {
    const life = `valid_lft ${this.#lifetimeSeconds} preferred_lft ${this.#lifetimeSeconds}`;
    try {
      await this.#batch(addresses.map((address) => `address replace ${hostPrefix(address)} dev ${this.name} ${life}`));
    } catch (error) {
      const what = addresses.length === 1 ? addresses[0] : `${addresses.length} addresses`;
      throw new Error(`cannot announce ${what} on interface ${this.name}: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Takes addresses off; those that are gone already are gone. */
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
      // A cast to what a command that fails has beside its message.
      const { stderr = '', code } = error as { stderr?: string; code?: string | number };
      if (code === 'ENOENT') throw new Error('there is no command `ip`: install iproute2', { cause: error });
      // What `ip` said, without its account of the batch.
      const [said = ''] = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('Command failed'));
      throw new Error(said.trim() || messageOf(error), { cause: error });
    }
  }
}

/** The address alone, whatever network it is in. */
const hostPrefix = (address: string): string => `${address}/${familyOf(address) === 'IPv6' ? 128 : 32}`;
