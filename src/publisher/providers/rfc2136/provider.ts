// Writes to DNS servers by dynamic updates (RFC 2136), signed with TSIG (RFC 8945).
import type { Clock } from '../../../client/clock.ts';
import type { Name } from '../../../dnswire/data.ts';
import type { TsigKey } from '../../../dnswire/tsig.ts';
import type { NameChange } from '../../plan/changes.ts';
import type { Failure, Provider, ZoneReading } from '../provider.ts';
import { ProviderError } from '../provider.ts';
import type { ServerAddress } from './connection.ts';
import { Server } from './exchange.ts';
import { ServedZone } from './zone.ts';

export interface Rfc2136Options {
  readonly zones: readonly Name[];
  /** Primary servers of all zones. The next is used when one fails. */
  readonly servers: readonly ServerAddress[];
  /** Reads the key, for every message: it may be rotated. */
  readonly key: () => TsigKey | undefined;
  readonly clock: Clock;
  /** How long a server may send nothing; default 10 s. */
  readonly timeoutMs?: number;
  readonly onMessage?: () => void;
}

/** A zone and the server that it is read from and written to. */
interface Route {
  readonly server: Server;
  readonly served: ServedZone;
}

/** Writes to DNS servers. */
export class Rfc2136Provider implements Provider {
  readonly #options: Rfc2136Options;
  /** Zone → the index of the server that answered last. */
  readonly #preferred = new Map<Name, number>();
  readonly #routes = new Map<Name, Route>();

  constructor(options: Rfc2136Options) {
    this.#options = options;
  }

  async zones(): Promise<readonly Name[]> {
    return this.#options.zones;
  }

  async read(zone: Name, signal: AbortSignal): Promise<ZoneReading> {
    const served = await this.#refresh(zone, signal);
    return served.take();
  }

  /** Reads a zone from the first server that serves it. Whatever is wrong with one, the next may do better. */
  async #refresh(zone: Name, signal: AbortSignal): Promise<ServedZone> {
    const errors: ProviderError[] = [];
    for (;;) {
      const { served } = this.#routes.get(zone) ?? this.#connect(zone);
      try {
        await served.read(signal);
        return served;
      } catch (error) {
        this.#leave(zone);
        if (signal.aborted || !(error instanceof ProviderError)) throw error;
        errors.push(error);
        if (errors.length === this.#options.servers.length) throw allOf(errors);
      }
    }
  }

  /** Sends changes to the server that the zone was read from, or to the next one if that fails or rejects all of them. */
  async apply(zone: Name, changes: readonly NameChange[], signal: AbortSignal): Promise<readonly Failure[]> {
    for (let left = this.#options.servers.length; ; left--) {
      const { served } = this.#routes.get(zone) ?? this.#connect(zone);
      try {
        const failures = await served.apply(changes, signal);
        const isRejected = failures.length === changes.length && failures.every(({ state }) => state === 'rejected');
        if (!isRejected || left <= 1) return failures;
        this.#leave(zone);
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        this.#leave(zone);
        if (signal.aborted || left <= 1) throw error;
      }
      // What the last server has applied is unknown. If it was anything, the prerequisites do not hold any more.
      await this.#refresh(zone, signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { server } of this.#routes.values()) server[Symbol.dispose]();
    this.#routes.clear();
  }

  #connect(zone: Name): Route {
    const { servers, key, clock, timeoutMs = 10_000, onMessage } = this.#options;
    const address = servers[(this.#preferred.get(zone) ?? 0) % servers.length];
    if (address === undefined) throw new Error('bug: there is no server');
    const server = new Server(address, { key, clock, timeoutMs, ...(onMessage && { onMessage }) });
    const route = { server, served: new ServedZone(zone, server, key) };
    this.#routes.set(zone, route);
    return route;
  }

  /** Uses the next server from now on. Its state is unknown. */
  #leave(zone: Name): void {
    this.#routes.get(zone)?.server[Symbol.dispose]();
    this.#routes.delete(zone);
    this.#preferred.set(zone, (this.#preferred.get(zone) ?? 0) + 1);
  }
}

/** One error for those of all servers, in an order that does not depend on which was tried first. */
function allOf(errors: readonly ProviderError[]): ProviderError {
  const [first, ...others] = errors;
  if (first !== undefined && others.length === 0) return first;
  return new ProviderError(
    errors
      .map(({ message }) => message)
      .toSorted()
      .join('; '),
    { cause: new AggregateError(errors) },
  );
}
