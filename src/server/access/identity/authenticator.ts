import type { TLSSocket } from 'node:tls';

import type { User } from '../../../api/user.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { StaticToken } from './static-tokens.ts';
import type { Verdict } from './users.ts';
import { anonymous, unknownToken } from './users.ts';
import { lookupIn } from './bound-objects.ts';
import { ClientCertificates } from './certificates.ts';
import { ServiceAccountTokens } from './service-account-tokens.ts';
import { StaticTokens } from './static-tokens.ts';
import type { TokenKeys } from './token-keys.ts';

/** The credentials of a request. */
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

/** Authenticates requests by client certificate or token. The first valid credential wins, as in Kubernetes. */
class Authenticator {
  readonly #options: AuthenticatorOptions;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /**
   * Returns the user: anonymous without credentials, undefined if no credential is valid. For a token that is not cached,
   * returns a function that verifies it, since that is far more expensive than everything else.
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
    const cached = accountTokens.verifyCached(token);
    if (cached !== undefined) return userIn(cached);
    return async () => userIn(await accountTokens.verify(token, accountTokens.audiences));
  }

  /** Verifies a token for one of `audiences`, or for this server if the list is empty. */
  async review(token: string, audiences: readonly string[]): Promise<Verdict> {
    const { staticTokens, accountTokens } = this.#options;
    const wanted = audiences.length === 0 ? accountTokens.audiences : audiences;
    const user = staticTokens.userOf(token);
    if (user === undefined) return accountTokens.verify(token, wanted);
    // Static tokens are valid for this server only.
    const shared = wanted.filter((audience) => accountTokens.audiences.includes(audience));
    return shared.length === 0 ? unknownToken : { valid: true, user, audiences: shared };
  }
}

const userIn = (verdict: Verdict): User | undefined => (verdict.valid ? verdict.user : undefined);

const protocolPrefix = 'base64url.bearer.authorization.k8s.io.';

/** The bearer token of an `Authorization` header, parsed as in Kubernetes; undefined if there is none. */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const [scheme = '', token = ''] = authorization.trim().split(' ', 2);
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}

/** The token in a WebSocket subprotocol, for browsers, which cannot set headers. */
export function protocolToken(protocols: string | undefined): string | undefined {
  if (protocols === undefined) return undefined;
  const offered = protocols.split(',').map((protocol) => protocol.trim());
  const encoded = offered.find((protocol) => protocol.startsWith(protocolPrefix))?.slice(protocolPrefix.length);
  if (encoded === undefined || !/^[\w-]+$/.test(encoded)) return undefined;
  return Buffer.from(encoded, 'base64url').toString();
}

/** The authentication of a server. */
export interface Identity {
  readonly certificates: ClientCertificates;
  readonly accountTokens: ServiceAccountTokens;
  readonly authenticator: Authenticator;
}

export interface IdentityOptions {
  /** The authorities whose client certificates are trusted, PEM. */
  readonly ca: string;
  readonly tokens: readonly StaticToken[];
  readonly keys: TokenKeys;
  readonly issuer: string;
  readonly watchCache: WatchCache;
  readonly clock: () => number;
  readonly uid: () => string;
}

/** The default issuer of tokens: Kubernetes' own name for the API server. */
export const defaultIssuer = 'https://kubernetes.default.svc.cluster.local';

/** Creates the authenticators. The issuer is also the default audience of tokens. */
export function createIdentity({ ca, tokens, keys, issuer, watchCache, clock, uid }: IdentityOptions): Identity {
  const certificates = new ClientCertificates(ca, clock);
  const accountTokens = new ServiceAccountTokens({
    keys,
    issuer,
    audiences: [issuer],
    lookup: lookupIn(watchCache),
    clock,
    uid,
  });
  const staticTokens = new StaticTokens(tokens);
  return {
    certificates,
    accountTokens,
    authenticator: new Authenticator({ certificates, staticTokens, accountTokens }),
  };
}
