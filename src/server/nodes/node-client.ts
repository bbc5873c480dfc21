import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as httpRequest } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { Duplex, Readable } from 'node:stream';

import { setTimeout } from '../../machine/timers.ts';
import { goErrorText } from '../../api/go-error-text.ts';
import type { NodeAddress, NodeAddressType } from './node-address.ts';
import { defaultAddressTypes } from './node-address.ts';

/** How this server connects to the servers of nodes. */
export interface NodeClientOptions {
  /** The client certificate, PEM; undefined: requests are anonymous. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The authorities of the certificates of nodes, PEM; undefined: they are not verified, as in kube-apiserver. */
  readonly ca?: string | undefined;
  readonly addressTypes?: readonly NodeAddressType[];
  /** How long a connection may take to be established; default 5 s. */
  readonly connectMs?: number;
}

/** A client certificate and its key, PEM. */
export interface ClientPair {
  readonly cert: string;
  readonly key: string;
}

const newAgent = (): Agent => new Agent({ keepAlive: true, maxFreeSockets: 64, timeout: 90_000 });

/** A request to a program behind this server. */
export interface BackendRequest {
  readonly scheme: 'http' | 'https';
  readonly address: NodeAddress;
  /** Path and query. */
  readonly path: string;
  readonly method: string;
  readonly headers: OutgoingHttpHeaders;
  /** Undefined: no body. */
  readonly body?: Readable | undefined;
  /** The client certificate of this server is sent, and the certificate of the node is verified if an authority is configured. */
  readonly isNode: boolean;
  /** The certificate is not verified, even if an authority is configured. */
  readonly skipVerification?: boolean;
  /** How an aggregated API server and this server authenticate each other; excludes `isNode`. */
  readonly tls?: BackendTls;
  readonly signal?: AbortSignal;
}

/** Options of a TLS connection, under the names of Node. */
export interface BackendTls {
  readonly servername: string;
  readonly rejectUnauthorized: boolean;
  readonly ca?: string;
  readonly allowPartialTrustChain?: true;
  readonly cert?: string;
  readonly key?: string;
}

/** The program has continued with another protocol on the connection. */
export interface UpgradedBackend {
  readonly response: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Sends requests to the servers of nodes, to Pods for the subresource `proxy`, and to aggregated API servers. */
export class NodeClient implements Disposable {
  #options: NodeClientOptions;
  #agent = newAgent();

  constructor(options: NodeClientOptions = {}) {
    this.#options = options;
  }

  /** Uses another client certificate for new connections; open streams continue. */
  renew(pair: ClientPair): void {
    this.#options = { ...this.#options, ...pair };
    this.#agent = newAgent(); // the connections of the old one close when they are idle
  }

  /** The order in which addresses of nodes are tried. */
  get addressTypes(): readonly NodeAddressType[] {
    return this.#options.addressTypes ?? defaultAddressTypes;
  }

  /** Sends a request. Rejects if there is no response, with the message that Go has. */
  async send(request: BackendRequest): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const isShared = request.isNode || request.tls !== undefined;
    const sent = this.#open(request, isShared ? this.#agent : undefined, reject);
    sent.on('response', resolve);
    if (request.body === undefined) sent.end();
    else request.body.on('error', () => sent.destroy()).pipe(sent);
    return promise;
  }

  /**
   * Sends a request to upgrade the connection. Resolves with a response if the program does not continue with another
   * protocol. Rejects if it cannot be reached.
   */
  async upgrade(request: BackendRequest): Promise<UpgradedBackend | IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<UpgradedBackend | IncomingMessage>();
    const failed = (error: unknown): void =>
      reject(new Error(`error dialing backend: ${goErrorText(error)}`, { cause: error }));
    const sent = this.#open(request, undefined, failed);
    sent.on('upgrade', (response, socket, head) => {
      socket.on('error', () => undefined); // `close` follows
      resolve({ response, socket, head });
    });
    sent.on('response', resolve);
    sent.end();
    return promise;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #open(
    request: BackendRequest,
    agent: Agent | undefined,
    failed: (error: unknown) => void,
  ): ReturnType<typeof httpsRequest> {
    const { scheme, address, path, method, headers, isNode, tls, skipVerification = false, signal } = request;
    const { cert, key, ca, connectMs = 5000 } = this.#options;
    const shared = { host: address.host, port: address.port, path, method, headers, ...(signal ? { signal } : {}) };
    const sent =
      scheme === 'http'
        ? httpRequest({ ...shared, agent: false })
        : httpsRequest({
            ...shared,
            agent: agent ?? false,
            ...(isNode && cert !== undefined && key !== undefined ? { cert, key } : {}),
            ...(isNode && ca !== undefined ? { ca } : {}),
            // The programs of Pods have certificates of their own, and kube-apiserver verifies none of them.
            rejectUnauthorized: isNode && ca !== undefined && !skipVerification,
            ...tls,
          });
    const timer = setTimeout(() => {
      const { host, port } = address;
      sent.destroy(Object.assign(new Error('i/o timeout'), { code: 'ETIMEDOUT', address: host, port }));
    }, connectMs);
    sent.on('socket', (socket) => {
      socket.setNoDelay(true);
      socket.setKeepAlive(true, 15_000);
      if (!socket.connecting && sent.reusedSocket) clearTimeout(timer);
      else socket.once(scheme === 'https' ? 'secureConnect' : 'connect', () => clearTimeout(timer));
    });
    sent.on('close', () => clearTimeout(timer));
    sent.on('error', failed);
    return sent;
  }
}

/** Whether the backend has upgraded the connection. */
export const isUpgraded = (reply: UpgradedBackend | IncomingMessage): reply is UpgradedBackend => 'response' in reply;

/** The body of a response, up to `limit` bytes. */
export async function readText(response: Readable, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= limit) break;
    }
  } catch {
    // The connection broke: what was received may explain it.
  }
  return Buffer.concat(chunks).subarray(0, limit).toString();
}
