import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { posix } from 'node:path';

import { codeOf, messageOf } from '../../api/error-message.ts';
import type { WebhookClientConfig } from '../../api/kinds/admissionregistration/webhook-schema.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { goErrorText } from '../../api/go-error-text.ts';
import type { Address } from './address.ts';
import { addressOf } from './address.ts';
import { ConnectionSlots } from './connection-slots.ts';

export interface Call {
  /** The owner of the webhook: one whose calls do not end leaves connections to others. */
  readonly key: string;
  readonly clientConfig: WebhookClientConfig;
  readonly body: string;
  readonly timeoutSeconds: number;
}

/** Longer responses are rejected: more than a review needs. */
const maxResponseBytes = 3 * 1024 * 1024;
/** Idle connections are closed after this time, or when there are more. */
const idleMs = 60_000;
const maxSockets = 512;
/** Calls at once: of one key, and of all. */
const limits = { perKey: 64, total: 256 };

/** Calls webhooks over keep-alive connections. */
export class Caller implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, timeout: idleMs });
  // Calls wait for a connection, and the wait counts towards their timeout.
  readonly #slots = new ConnectionSlots(limits);
  readonly #sockets = new Set<Socket>();
  readonly #watchCache: WatchCache;

  /** `watchCache` has the Services that webhooks can be behind. */
  constructor(watchCache: WatchCache) {
    this.#watchCache = watchCache;
  }

  /** Returns the response as JSON. Throws with the messages of Kubernetes where it has one. */
  async call({ key, clientConfig, body, timeoutSeconds }: Call): Promise<unknown> {
    const address = addressOf(clientConfig, this.#watchCache);
    const url = `${withCleanPath(address.url)}?timeout=${timeoutSeconds}s`;
    const signal = AbortSignal.timeout(timeoutSeconds * 1000);
    const message = { address, ca: authoritiesOf(clientConfig), body };
    const post = (): Promise<Response> => this.#post(new URL(url), message, signal);
    const response = await this.#slots.run(key, signal, post).catch((error: unknown) => {
      const why = signal.aborted ? 'context deadline exceeded' : goErrorText(error);
      throw new Error(`Post "${url}": ${why}`, { cause: error });
    });
    if (response.status < 200 || response.status > 299) throw new Error(statusText(response));
    try {
      return JSON.parse(response.text) as unknown;
    } catch (error) {
      throw new Error(`couldn't get version/kind; json parse error: ${messageOf(error)}`, { cause: error });
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #closeIdle(): void {
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
  }

  async #post(url: URL, message: Message, signal: AbortSignal, isRetry = false): Promise<Response> {
    const { address, ca, body } = message;
    const place = address.resolve();
    if (this.#sockets.size >= maxSockets) this.#closeIdle();
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const sent = request(
      url,
      {
        method: 'POST',
        agent: this.#agent,
        signal,
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json',
          Host: url.host,
          'Content-Length': Buffer.byteLength(body),
        },
        // As in Kubernetes, a bundle can be the certificate of the webhook itself, which is what envtest configures.
        ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
        // The certificate is for the name in the URL, not for the endpoint.
        ...(place === undefined ? {} : { hostname: place.host, port: place.port, servername: url.hostname }),
      },
      (response) => void readResponse(response).then(resolve, reject), // neither rejects
    );
    sent.on('error', reject);
    sent.on('socket', (socket) => {
      if (this.#sockets.has(socket)) return;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    sent.end(body);
    return promise.catch(async (error: unknown) => {
      // The server may have closed an idle connection just before its reuse: it has not read the request.
      if (!sent.reusedSocket || isRetry || codeOf(error) !== 'ECONNRESET') throw error;
      return this.#post(url, message, signal, true);
    });
  }
}

/** As in Kubernetes, a path has neither repeated slashes, which envtest configures, nor one at its end. */
function withCleanPath(url: string): string {
  const [, origin = url, path = ''] = /^(https:\/\/[^/]+)(.*)$/s.exec(url) ?? [];
  return origin + posix.join('/', path).replace(/(.)\/$/, '$1');
}

/** The trusted authorities, PEM; undefined: those of the system. */
const authoritiesOf = ({ caBundle = '' }: WebhookClientConfig): string | undefined => {
  const authorities = Buffer.from(caBundle, 'base64').toString();
  return authorities.trim() === '' ? undefined : authorities;
};

interface Message {
  readonly address: Address;
  readonly ca: string | undefined;
  readonly body: string;
}

interface Response {
  readonly status: number;
  readonly text: string;
}

async function readResponse(response: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxResponseBytes) throw new Error(`the response is longer than ${maxResponseBytes} bytes`);
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() };
}

const statusTexts: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};

/** The message of client-go for an HTTP status other than 2xx. */
function statusText({ status, text }: Response): string {
  const known = statusTexts[status];
  if (known !== undefined) return known;
  if (status < 500) return `the server responded with the status code ${status} but did not return more information`;
  return `an error on the server (${JSON.stringify(text.trim().slice(0, 256))}) has prevented the request from succeeding`;
}
