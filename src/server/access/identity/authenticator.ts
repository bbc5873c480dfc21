import type { TLSSocket } from 'node:tls';

import type { User } from '../../reply.ts';
import { bearerToken, protocolToken } from './bearer.ts';
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
