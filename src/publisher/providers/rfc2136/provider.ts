// Writes to DNS servers by dynamic updates (RFC 2136), signed with TSIG (RFC 8945).
import type { Clock } from '../../../client/clock.ts';
import { rcodes } from '../../../dnswire/codes.ts';
import type { Name } from '../../../dnswire/data.ts';
import type { TsigKey } from '../../../dnswire/tsig.ts';
import type { NameChange } from '../../plan/changes.ts';
import type { ZoneContent } from '../../plan/record-set.ts';
import type { Failure, Provider } from '../provider.ts';
import type { ServerAddress } from './connection.ts';
import { ConnectionError } from './connection.ts';
import { AnswerError, Server } from './exchange.ts';
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

  /** Reads a zone from the first server that serves it. */
  async read(zone: Name, signal: AbortSignal): Promise<ZoneContent> {
    for (let left = this.#options.servers.length; ; left--) {
      const { served } = this.#routes.get(zone) ?? this.#connect(zone);
      try {
        return await served.read(signal);
      } catch (error) {
        this.#leave(zone);
        if (signal.aborted || left <= 1 || !isOfServer(error)) throw error;
      }
    }
  }

  async apply(zone: Name, changes: readonly NameChange[], signal: AbortSignal): Promise<readonly Failure[]> {
    const route = this.#routes.get(zone);
    if (route === undefined) throw new Error('bug: the zone was not read');
    try {
      return await route.served.apply(changes, signal);
    } catch (error) {
      // What was applied is unknown. The zone is read again, from the next server.
      if (isOfServer(error)) this.#leave(zone);
      throw error;
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

  /** Uses the next server from now on, of which nothing is known yet. */
  #leave(zone: Name): void {
    this.#routes.get(zone)?.server[Symbol.dispose]();
    this.#routes.delete(zone);
    this.#preferred.set(zone, (this.#preferred.get(zone) ?? 0) + 1);
  }
}

/** Whether another server may do better. */
const isOfServer = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof AnswerError && serverCodes.has(error.rcode));

const serverCodes: ReadonlySet<number> = new Set([rcodes.SERVFAIL, rcodes.NOTAUTH, rcodes.NOTIMP, rcodes.REFUSED]);
