import type { WatchCache } from '../../cache/watch-cache.ts';
import { Authenticator } from './authenticator.ts';
import { lookupIn } from './bound-objects.ts';
import { ClientCertificates } from './certificates.ts';
import { ServiceAccountTokens } from './service-account-tokens.ts';
import type { StaticToken } from './static-tokens.ts';
import { StaticTokens } from './static-tokens.ts';
import type { TokenKeys } from './token-keys.ts';

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
