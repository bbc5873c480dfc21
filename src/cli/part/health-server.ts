import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { joinHostPort } from '../../api/addresses.ts';
import { messageOf } from '../../api/error-message.ts';
import { ConnectionLimiter } from '../../machine/connection-limiter.ts';
import { descriptorShare } from '../../machine/descriptors.ts';
import { codesOf, FatalError } from '../errors.ts';
import type { HealthPlace } from './part.ts';

/** On port 0 it is any that is free. */
export interface HealthOptions extends HealthPlace {
  /** What keeps the program from its work. */
  readonly problems: () => readonly string[];
  /** Whether it does its work in spite of them, as one that was ready once may; for `/ready`, and no by default. */
  readonly goesOn?: () => boolean;
  /** Told of every answer to a path. */
  readonly onAnswer?: (path: string, status: number) => void;
  /** The text of `/metrics`. */
  readonly metrics: () => Promise<string>;
}

/** Where probes and scrapers ask. */
export interface HealthServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves `/healthz`, `/livez`, `/readyz` and `/metrics` over plain HTTP. The process is alive as long as it answers; it
 * is ready when nothing keeps it from its work, and says what does otherwise. `/ready` is as CoreDNS has it, for probes
 * that decide who is asked: what goes on from what it knows is ready, and says what is in its way all the same.
 */
export async function serveHealth(options: HealthOptions): Promise<HealthServer> {
  const { host, port } = options;
  let printing: Promise<string> | undefined;
  const shared: HealthOptions = {
    ...options,
    // Scrapers that come while one is served get the same.
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
  // Accepting fails when descriptors run out; the next attempt may not.
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

/** Connections at once, of which there may be two places: they are none of the part's own descriptors. */
const connectionsWithin = (descriptors: number): number => Math.max(8, Math.min(64, Math.floor(descriptors / 16)));

/** A probe is one small request, and takes no time. */
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
  { problems, goesOn = () => false, metrics, isHealthReadiness = false }: HealthOptions,
): Promise<Answer> {
  const { method } = request;
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'method not allowed\n' };
  const asked = pathOf(request);
  const path = asked === '/healthz' && isHealthReadiness ? '/readyz' : asked;
  switch (path) {
    case '/healthz':
    case '/livez':
    case '/health': // CoreDNS' names of the two
      return { status: 200, text: 'ok' };
    case '/ready':
    case '/readyz': {
      const found = problems();
      if (found.length === 0) return { status: 200, text: 'ok' };
      const text = found.map((problem) => `${problem}\n`).join('');
      return path === '/ready' && goesOn() ? { status: 200, text: `ok, but ${text}` } : { status: 503, text };
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

function listenError(cause: unknown, { host, port, flag }: HealthPlace): unknown {
  const what = 'for /readyz and /metrics';
  if (codesOf(cause).includes('EADDRINUSE')) {
    return new FatalError(`port ${port} ${what} is in use: stop what holds it or pass --${flag}`, { cause });
  }
  return new FatalError(`cannot listen on ${host} port ${port} ${what}: ${messageOf(cause)}`, { cause });
}
