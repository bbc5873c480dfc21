// Where the dashboard listens, and the names under which browsers may reach it.
import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { joinHostPort } from '../../api/addresses.ts';
import { codeOf, messageOf } from '../../api/error-message.ts';
import { setInterval } from '../../machine/timers.ts';
import { isLoopback } from '../../api/addresses.ts';
import type { ListenOptions } from '../options.ts';

/** Small requests only; streams are responses without an end. */
const limits = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 5000,
} as const;

const maxConnections = 512;
/** A replaced certificate is used after this time at the latest. */
const certificateMs = 60_000;

/** A server over HTTP, or over TLS if it has a certificate. */
export class Listener implements AsyncDisposable {
  readonly #options: ListenOptions;
  readonly #answer: RequestListener;
  readonly #log: Pick<Logger, 'warn'>;
  #server: Server | undefined;
  #timer: NodeJS.Timeout | undefined;
  #port = 0;

  constructor(options: ListenOptions, answer: RequestListener, log: Pick<Logger, 'warn'>) {
    this.#options = options;
    this.#answer = answer;
    this.#log = log;
  }

  /** 0 before it listens. */
  get port(): number {
    return this.#port;
  }

  /** Whether browsers send everything encrypted. */
  get isEncrypted(): boolean {
    return this.#options.certificate !== undefined;
  }

  get origin(): string {
    return `${this.isEncrypted ? 'https' : 'http'}://${joinHostPort(this.#options.host, this.#port)}`;
  }

  /**
   * Whether a `Host` header names this server. Names must be listed, against DNS rebinding; addresses need not, since
   * DNS does not resolve them. Any port is accepted, because it may be forwarded to this one.
   */
  isOwn(host: string): boolean {
    const { names = [], host: own } = this.#options;
    const [, name = '', port = ''] = /^(\[[\da-f:]+\]|[^:]*)(?::(\d+))?$/.exec(host) ?? [];
    if (names.includes(name)) return true;
    const address = name.replace(/^\[|\]$/g, '');
    if (!isLoopback(own)) return isIP(address) !== 0;
    return port === String(this.#port) && ['127.0.0.1', 'localhost', '::1', own].includes(address);
  }

  /** Listens on the first free port. Rejects with the reason if there is none. */
  async listen(portFlag: string): Promise<void> {
    const { host, ports } = this.#options;
    const server = await this.#create();
    this.#server = server;
    server.maxConnections = maxConnections;
    for (const [index, port] of ports.entries()) {
      try {
        await listenOn(server, host, port);
        break;
      } catch (cause) {
        const isTaken = codeOf(cause) === 'EADDRINUSE';
        if (isTaken && index < ports.length - 1) continue;
        const where = `port ${port} for the dashboard`;
        if (isTaken)
          throw new Error(`${where} is in use: stop the program that uses it or pass ${portFlag}`, { cause });
        throw new Error(`cannot listen on ${host} ${where}: ${messageOf(cause)}`, { cause });
      }
    }
    const address = server.address();
    this.#port = typeof address === 'object' && address !== null ? address.port : 0;
    // Accepting fails when descriptors run out; the next attempt may not.
    server.on('error', (error) => this.#log.warn({ err: error }, 'accepting a connection failed'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    const server = this.#server;
    if (server === undefined || !server.listening) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  async #create(): Promise<Server> {
    const { certificate } = this.#options;
    if (certificate === undefined) return createServer(limits, this.#answer);
    const server = createTlsServer({ ...limits, ...(await certificate()), minVersion: 'TLSv1.2' }, this.#answer);
    const renew = async (): Promise<void> => {
      try {
        server.setSecureContext(await certificate());
      } catch (error) {
        this.#log.warn({ err: error }, 'reading the certificate failed: the last one is used');
      }
    };
    this.#timer = setInterval(() => void renew(), certificateMs).unref();
    return server;
  }
}

function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
