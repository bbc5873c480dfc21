import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import { Counter } from 'prom-client';
import { joinHostPort } from '../../api/addresses.ts';
import { messageOf } from '../../api/error-message.ts';
import { ConnectionLimiter } from '../../machine/connection-limiter.ts';
import { descriptorShare } from '../../machine/descriptors.ts';
import { codesOf, FatalError } from '../errors.ts';
import type { HealthAddress } from './part.ts';

/** Port 0 is any free port. */
export interface HealthOptions extends HealthAddress {
  /** Why the process is not ready; empty when it is. */
  readonly problems: () => readonly string[];
  /** Whether `/ready` stays 200 in spite of problems, because the process serves from its caches; default false. */
  readonly isServing?: () => boolean;
  /** Called after every answer. */
  readonly onAnswer?: (path: string, status: number) => void;
  /** The text of `/metrics`. */
  readonly metrics: () => Promise<string>;
}

/** A running health server. */
export interface HealthServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves `/healthz`, `/livez`, `/readyz` and `/metrics` over plain HTTP. `/readyz` is 503 with the problems while there are
 * any. `/ready` is as in CoreDNS, for probes that select backends: it stays 200, with the problems, while the process
 * serves from its caches.
 */
export async function serveHealth(options: HealthOptions): Promise<HealthServer> {
  const { host, port } = options;
  let printing: Promise<string> | undefined;
  const shared: HealthOptions = {
    ...options,
    // Concurrent scrapes share one answer.
    metrics: () => (printing ??= options.metrics().finally(() => (printing = undefined))),
  };
  const server = createServer(limits, (request, response) => {
    request.resume();
    answer(request, shared).then(
      (reply) => {
        send(response, reply);
        options.onAnswer?.(pathOf(request), reply.status);
      },
      (error: unknown) => send(response, { status: 500, text: `${messageOf(error)}\n` }),
    );
  });
  new ConnectionLimiter(connectionsWithin(descriptorShare('alone'))).add(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, options)));
    server.listen({ host, port }, resolve);
  });
  // Accepting fails when there are no descriptors left; a later connection may succeed.
  server.on('error', () => undefined);
  const address = server.address();
  const actual = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${joinHostPort(host, actual)}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The limit of connections to one of up to two health servers; they are not part of the part's own descriptors. */
const connectionsWithin = (descriptors: number): number => Math.max(8, Math.min(64, Math.floor(descriptors / 16)));

/** A probe is one small request. */
const limits = {
  maxHeaderSize: 8192,
  headersTimeout: 5000,
  requestTimeout: 10_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 5000,
} as const;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
}

const pathOf = ({ url = '/' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

async function answer(
  request: IncomingMessage,
  { problems, isServing = () => false, metrics, isHealthReadiness = false }: HealthOptions,
): Promise<Answer> {
  const { method } = request;
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'method not allowed\n' };
  const requested = pathOf(request);
  const path = requested === '/healthz' && isHealthReadiness ? '/readyz' : requested;
  switch (path) {
    case '/healthz':
    case '/livez':
    case '/health': // the name in CoreDNS
      return { status: 200, text: 'ok' };
    case '/ready':
    case '/readyz': {
      const found = problems();
      if (found.length === 0) return { status: 200, text: 'ok' };
      const text = found.map((problem) => `${problem}\n`).join('');
      return path === '/ready' && isServing() ? { status: 200, text: `ok, but ${text}` } : { status: 503, text };
    }
    case '/metrics':
      return { status: 200, text: await metrics(), type: 'text/plain; version=0.0.4; charset=utf-8' };
    default:
      return { status: 404, text: '404 page not found\n' };
  }
}

function send(response: ServerResponse, { status, text, type = 'text/plain; charset=utf-8' }: Answer): void {
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}

function listenError(cause: unknown, { host, port, flag }: HealthAddress): unknown {
  const what = 'for /readyz and /metrics';
  if (codesOf(cause).includes('EADDRINUSE')) {
    return new FatalError(`port ${port} ${what} is in use: stop the program that uses it or pass --${flag}`, { cause });
  }
  return new FatalError(`cannot listen on ${host} port ${port} ${what}: ${messageOf(cause)}`, { cause });
}

/** Counts the answers to probes by code: `PREFIX_healthz_total` and `PREFIX_livez_total`. */
export function countProbes(registry: Registry, prefix: string): (path: string, status: number) => void {
  const counters = new Map(
    ['healthz', 'livez'].map((probe) => {
      const name = `${prefix}_${probe}_total`;
      const counter = new Counter({ name, help: `Answers of /${probe}.`, labelNames: ['code'], registers: [registry] });
      return [`/${probe}`, counter];
    }),
  );
  for (const counter of counters.values()) for (const code of ['200', '503']) counter.inc({ code }, 0);
  return (path, status) => counters.get(path)?.inc({ code: String(status) });
}
