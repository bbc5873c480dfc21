import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { once } from 'node:events';

import { ConnectionLimiter } from '../../machine/connection-limiter.ts';
import type { HealthCheck } from '../routes/health-check.ts';

export interface HealthChecksOptions {
  /** Default: all addresses. */
  readonly host?: string | undefined;
  /** The maximum number of ports, with twice as many connections. Default: no limit. */
  readonly maxPorts?: number | undefined;
  /** Whether the proxy works; if not, load balancers should not use the node. */
  readonly isHealthy: () => boolean;
  /** Called once if listening on a port fails; `set` and `retry` try again. */
  readonly onError: (check: HealthCheck, error: unknown) => void;
}

/** Enough for load balancers, and no other clients are expected. */
const maxConnections = 1024;

interface PortListener {
  readonly server: Server;
  readonly listened: Promise<void>;
}

/** Answers health checks of load balancers at the health check node port of each Service. */
export class HealthChecks implements AsyncDisposable {
  readonly #options: HealthChecksOptions;
  /** Owner → its health check. */
  readonly #checks = new Map<string, HealthCheck>();
  /** Port → its listener. */
  readonly #servers = new Map<number, PortListener>();
  /** Ports whose failure was reported. */
  readonly #reported = new Set<number>();
  readonly #limiter: ConnectionLimiter;

  constructor(options: HealthChecksOptions) {
    this.#options = options;
    this.#limiter = new ConnectionLimiter(Math.min(maxConnections, (options.maxPorts ?? Infinity) * 2));
  }

  /** Sets the health check of an owner; undefined: removes it. */
  set(owner: string, check: HealthCheck | undefined): void {
    const old = this.#checks.get(owner);
    if (check === undefined) this.#checks.delete(owner);
    else this.#checks.set(owner, check);
    if (old !== undefined && old.port !== check?.port) this.#close(old.port);
    if (check !== undefined) this.#open(check);
  }

  /** Retries ports on which listening failed. */
  retry(): void {
    for (const check of this.#checks.values()) this.#open(check);
  }

  /** Resolves when listening on all ports has started or failed. */
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
    const { maxPorts = Infinity } = this.#options;
    if (this.#servers.size >= maxPorts) {
      return this.#report(check, new Error(`\`ulimit -n\` leaves ${maxPorts} ports for health checks: raise it`));
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
    this.#limiter.add(server);
    const listened = Promise.withResolvers<void>();
    server.on('error', (error) => {
      this.#servers.delete(port);
      listened.resolve();
      this.#report(check, error);
    });
    server.listen({ port, ...(this.#options.host === undefined ? {} : { host: this.#options.host }) }, () => {
      this.#reported.delete(port);
      listened.resolve();
    });
    this.#servers.set(port, { server, listened: listened.promise });
  }

  #report(check: HealthCheck, error: Error): void {
    if (!this.#reported.has(check.port)) this.#options.onError(check, error);
    this.#reported.add(check.port);
  }

  #close(port: number): void {
    const listener = this.#servers.get(port);
    this.#servers.delete(port);
    this.#reported.delete(port);
    listener?.server.close();
    listener?.server.closeAllConnections();
  }
}

/** The response to a health check, as kube-proxy's. */
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
