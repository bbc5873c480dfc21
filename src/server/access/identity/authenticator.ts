import type { TLSSocket } from 'node:tls';

import type { User } from '../../reply.ts';
import type { ClientCertificates } from './certificates.ts';
import type { ServiceAccountTokens } from './service-account-tokens.ts';
import type { StaticTokens } from './static-tokens.ts';
import type { Verdict } from './verdict.ts';
import { anonymous, unknownToken } from './verdict.ts';

/** What a request brings to show who sends it. */
export interface Credentials {
  readonly socket: TLSSocket | undefined;
  readonly authorization: string | undefined;
  /** The `Sec-WebSocket-Protocol` header. */
  readonly protocols: string | undefined;
}

export interface AuthenticatorOptions {
  readonly certificates: ClientCertificates;
  readonly staticTokens: StaticTokens;
  readonly accountTokens: ServiceAccountTokens;
}

/** Tells who sends a request: by client certificate, else by token. The first that is right wins, as in Kubernetes. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /**
   * The user; anonymous when no credentials were given; undefined when none of those given is right. For a token that
   * was not seen before, what finds out: it costs more than all else.
   */
  identify(credentials: Credentials): User | undefined | (() => Promise<User | undefined>) {
    const { certificates, accountTokens } = this.#options;
    const { socket } = credentials;
    const byCertificate = socket === undefined ? 'none' : certificates.verdictOf(socket);
    if (typeof byCertificate !== 'string' && byCertificate !== anonymous) return byCertificate;
    const token = bearerToken(credentials.authorization) ?? protocolToken(credentials.protocols);
    if (token === undefined) return byCertificate === 'refused' ? undefined : anonymous;
    const user = this.#options.staticTokens.userOf(token);
    if (user !== undefined) return user;
    const known = accountTokens.verifyKnown(token);
    if (known !== undefined) return userIn(known);
    return async () => userIn(await accountTokens.verify(token, accountTokens.audiences));
  }

  /** Whom a token stands for when it is shown to one of `audiences`; to this server, when there are none. */
  async review(token: string, audiences: readonly string[]): Promise<Verdict> {
    const { staticTokens, accountTokens } = this.#options;
    const asked = audiences.length === 0 ? accountTokens.audiences : audiences;
    const user = staticTokens.userOf(token);
    if (user === undefined) return accountTokens.verify(token, asked);
    // These tokens are for this server only.
    const shared = asked.filter((audience) => accountTokens.audiences.includes(audience));
    return shared.length === 0 ? unknownToken : { valid: true, user, audiences: shared };
  }
}

const userIn = (verdict: Verdict): User | undefined => (verdict.valid ? verdict.user : undefined);

const protocolPrefix = 'base64url.bearer.authorization.k8s.io.';

/** The token of an `Authorization` header, read as Kubernetes does; undefined when there is none, or another scheme. */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const [scheme = '', token = ''] = authorization.trim().split(' ', 2);
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}

/** The token that a browser's WebSocket, which cannot set headers, brings as a subprotocol. */
export function protocolToken(protocols: string | undefined): string | undefined {
  if (protocols === undefined) return undefined;
  const offered = protocols.split(',').map((protocol) => protocol.trim());
  const encoded = offered.find((protocol) => protocol.startsWith(protocolPrefix))?.slice(protocolPrefix.length);
  if (encoded === undefined || !/^[\w-]+$/.test(encoded)) return undefined;
  return Buffer.from(encoded, 'base64url').toString();
}
