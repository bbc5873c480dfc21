import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { once } from 'node:events';

import { ConnectionLimiter } from '../../machine/connection-limiter.ts';
import type { HealthCheck } from '../routes/health-check.ts';

export interface HealthChecksOptions {
  /** Default: every address. */
  readonly host?: string | undefined;
  /** Ports that may be listened on, and twice as many connections to all of them. Default: no bound. */
  readonly mostPorts?: number | undefined;
  /** Whether this proxy does its work: a node whose proxy does not is not to be used. */
  readonly isHealthy: () => boolean;
  /** Told once when a port cannot be listened on; it is tried again with the next `set` or `retry`. */
  readonly onError: (check: HealthCheck, error: unknown) => void;
}

/** Load balancers are few; anybody else has no business here. */
const mostConnections = 1024;

interface Listening {
  readonly server: Server;
  readonly listened: Promise<void>;
}

/** Answers load balancers that ask, at a port for each Service, whether this node has endpoints of it. */
export class HealthChecks implements AsyncDisposable {
  readonly #options: HealthChecksOptions;
  /** Owner → what is answered for it. */
  readonly #checks = new Map<string, HealthCheck>();
  /** Port → who listens there. */
  readonly #servers = new Map<number, Listening>();
  /** Ports that were told to be closed, and still are. */
  readonly #told = new Set<number>();
  readonly #bound: ConnectionLimiter;

  constructor(options: HealthChecksOptions) {
    this.#options = options;
    this.#bound = new ConnectionLimiter(Math.min(mostConnections, (options.mostPorts ?? Infinity) * 2));
  }

  /** The health check of an owner as it is now; undefined: it has none. */
  set(owner: string, check: HealthCheck | undefined): void {
    const old = this.#checks.get(owner);
    if (check === undefined) this.#checks.delete(owner);
    else this.#checks.set(owner, check);
    if (old !== undefined && old.port !== check?.port) this.#close(old.port);
    if (check !== undefined) this.#open(check);
  }

  /** Tries again to listen where it failed. */
  retry(): void {
    for (const check of this.#checks.values()) this.#open(check);
  }

  /** Resolves when every port that can be listened on is. */
  async listening(): Promise<void> {
    await Promise.all(Array.from(this.#servers.values(), ({ listened }) => listened));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = Array.from(this.#servers.values(), async ({ server, listened }) => {
      await listened;
      if (!server.listening) return;
      const end = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await end;
    });
    this.#checks.clear();
    this.#servers.clear();
    await Promise.all(closed);
  }

  #open(check: HealthCheck): void {
    const { port, owner } = check;
    if (this.#servers.has(port)) return;
    const { mostPorts = Infinity } = this.#options;
    if (this.#servers.size >= mostPorts) {
      return this.#complain(check, new Error(`\`ulimit -n\` leaves ${mostPorts} ports for health checks: raise it`));
    }
    const server = createServer({ keepAliveTimeout: 1000, requestTimeout: 5000 }, (_request, response) => {
      const { code, body, weight } = answerFor(this.#checks.get(owner) ?? check, this.#options.isHealthy());
      response.writeHead(code, {
        'Content-Type': 'application/json',
        'X-Content-Type-Options': 'nosniff',
        'X-Load-Balancing-Endpoint-Weight': String(weight),
      });
      response.end(body);
    });
    this.#bound.add(server);
    const listened = Promise.withResolvers<void>();
    server.on('error', (error) => {
      this.#servers.delete(port);
      listened.resolve();
      this.#complain(check, error);
    });
    server.listen({ port, ...(this.#options.host === undefined ? {} : { host: this.#options.host }) }, () => {
      this.#told.delete(port);
      listened.resolve();
    });
    this.#servers.set(port, { server, listened: listened.promise });
  }

  #complain(check: HealthCheck, error: Error): void {
    if (!this.#told.has(check.port)) this.#options.onError(check, error);
    this.#told.add(check.port);
  }

  #close(port: number): void {
    const listening = this.#servers.get(port);
    this.#servers.delete(port);
    this.#told.delete(port);
    listening?.server.close();
    listening?.server.closeAllConnections();
  }
}

/** What a load balancer is told, in kube-proxy's words. */
export function answerFor(
  { namespace, name, localEndpoints }: HealthCheck,
  isHealthy: boolean,
): { readonly code: number; readonly body: string; readonly weight: number } {
  const body = JSON.stringify({
    service: { namespace, name },
    localEndpoints,
    serviceProxyHealthy: isHealthy,
  });
  return { code: localEndpoints > 0 && isHealthy ? 200 : 503, body, weight: localEndpoints };
}
