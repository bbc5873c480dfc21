import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PeerCertificate } from 'node:tls';
import { checkServerIdentity } from 'node:tls';

import type { ClientDuplexStream } from '@grpc/grpc-js';
import { Client, credentials, Metadata } from '@grpc/grpc-js';

import { StoreUnavailableError } from '../errors.ts';
import { failureOf, reasonOf } from './failures.ts';
import type { Method } from './messages.ts';

/** How to reach etcd. */
export interface EtcdAddress {
  /** URLs of members: all `http`, or all `https`. */
  readonly endpoints: readonly string[];
  /** PEM; undefined: the authorities of the system. */
  readonly ca?: string | undefined;
  /** The certificate of the client and its key, PEM. */
  readonly pair?: { readonly cert: string; readonly key: string } | undefined;
}

/** How long one member has to answer a call, before another one is tried. Calls are tried for twice as long. */
const attemptMs = 2000;
const pauseMs = { first: 20, longest: 250 };

const channelOptions = {
  // Without a limit: one answer has all events of up to a thousand revisions.
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
} as const;

/** Calls the members of an etcd cluster, and another one when one fails. */
export class EtcdClient implements Disposable {
  readonly #members: readonly { readonly url: string; readonly client: Client }[];
  readonly #metadata = new Metadata();
  #current = 0;

  constructor({ endpoints, ca, pair }: EtcdAddress) {
    // A member without a leader then rejects a call at once, and ends a watch.
    this.#metadata.set('hasleader', 'true');
    this.#members = endpoints.map((url) => {
      const { protocol, host, hostname } = new URL(url);
      if (protocol === 'http:') return { url, client: new Client(host, credentials.createInsecure(), channelOptions) };
      const address = hostname.replace(/^\[|\]$/g, '');
      const isAddress = isIP(address) !== 0;
      const verify = isAddress ? { checkServerIdentity: checkAddress(address) } : {};
      const secure = credentials.createSsl(bufferOf(ca), bufferOf(pair?.key), bufferOf(pair?.cert), verify);
      return {
        url,
        client: new Client(host, secure, isAddress ? { ...channelOptions, ...serverName } : channelOptions),
      };
    });
  }

  [Symbol.dispose](): void {
    for (const { client } of this.#members) client.close();
  }

  /** The URL of the member for the next call. */
  get url(): string {
    return this.#member().url;
  }

  get endpoints(): readonly string[] {
    return this.#members.map(({ url }) => url);
  }

  /** Sends further calls to another member than this one. */
  leave(url: string): void {
    if (url === this.url) this.#current = (this.#current + 1) % this.#members.length;
  }

  /** Sends a call to one member once. */
  attempt<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    { timeoutMs = attemptMs }: { readonly timeoutMs?: number } = {},
  ): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const { client } = this.#member();
    const options = { deadline: Date.now() + timeoutMs };
    client.makeUnaryRequest(
      method.path,
      method.encode,
      method.decode,
      request,
      this.#metadata,
      options,
      (error, response) => {
        if (error === null) resolve(response as Response);
        else reject(error);
      },
    );
    return promise;
  }

  /** Sends a call to members in turn until one answers. Only for calls that may be applied twice. */
  async call<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    { timeoutMs = attemptMs }: { readonly timeoutMs?: number } = {},
  ): Promise<Response> {
    const giveUp = performance.now() + 2 * timeoutMs;
    for (let pause: number = pauseMs.first; ; pause = Math.min(2 * pause, pauseMs.longest)) {
      const { url } = this;
      try {
        return await this.attempt(method, request, { timeoutMs });
      } catch (error) {
        const failure = failureOf(error);
        if (failure !== 'not applied' && failure !== 'unknown' && failure !== 'overloaded') throw error;
        if (performance.now() > giveUp) throw unavailable(url, error);
        this.leave(url);
        await sleep(pause);
      }
    }
  }

  /** Opens a stream to the current member. */
  stream<Request, Response>(method: Method<Request, Response>): ClientDuplexStream<Request, Response> {
    const { client } = this.#member();
    return client.makeBidiStreamRequest(method.path, method.encode, method.decode, this.#metadata);
  }

  #member(): { readonly url: string; readonly client: Client } {
    const member = this.#members[this.#current];
    if (member === undefined) throw new Error('bug: etcd has no endpoints');
    return member;
  }
}

/** grpc-js sends the host as the server name, and Node rejects an address there, so a placeholder takes its place. */
const serverName = { 'grpc.ssl_target_name_override': 'etcd' } as const;

/** Checks that the certificate of a member has its address. */
const checkAddress =
  (address: string) =>
  (_name: string, certificate: PeerCertificate): Error | undefined =>
    checkServerIdentity(address, certificate);

const bufferOf = (pem: string | undefined): Buffer | null => (pem === undefined ? null : Buffer.from(pem));

/** The error for callers of the store when etcd does not serve a call; other errors are returned as they are. */
export function unavailable(url: string, error: unknown): unknown {
  const isOfCall = error instanceof Error && 'details' in error;
  if (!isOfCall) return error;
  return new StoreUnavailableError(`etcd ${url} is not available: ${reasonOf(error)}`, { cause: error });
}
