import type { JWTVerifyResult } from 'jose';

import { truncate } from '../../../api/text.ts';
import { isJsonObject } from '../../../api/schema/json-object.ts';
import type { User } from '../../../api/user.ts';
import { quoted } from '../rbac/covers.ts';
import type { Lookup } from './bound-objects.ts';
import { boundObjectError } from './bound-objects.ts';
import type { KubernetesClaims, TokenClaims } from './claims.ts';
import { accountGroups, accountUserName, readClaims } from './claims.ts';
import { LruCache } from './lru-cache.ts';
import type { TokenKeys } from './token-keys.ts';
import type { Verdict } from './users.ts';
import { authenticated, credentialId, unknownToken } from './users.ts';

export interface ServiceAccountTokenOptions {
  readonly keys: TokenKeys;
  /** The `iss` claim, a URL. */
  readonly issuer: string;
  /** The names of this server in the `aud` claim. */
  readonly audiences: readonly string[];
  readonly lookup: Lookup;
  readonly clock: () => number;
  readonly uid: () => string;
}

/** The content of a new token. */
export interface TokenContent {
  readonly audiences: readonly string[];
  readonly seconds: number;
  readonly claims: KubernetesClaims;
}

/** A token whose signature was verified, cached to skip another check. */
interface VerifiedToken {
  readonly kid: string;
  readonly claims: TokenClaims;
  readonly user: User;
}

const algorithm = 'ES256';
/** The allowed clock skew between servers, as in Kubernetes. */
const leewaySeconds = 60;
/** Accepts tokens from the future on a server whose clock is behind. We never issue such tokens. */
const maxClockLagSeconds = 86_400;
/** An entry takes about 1 KiB. */
const maxVerified = 4096;
const refreshEveryMs = 1000;
/** Tokens have one or two kilobytes. A review may contain megabytes, and verified tokens are cached. */
const maxTokenLength = 16 * 1024;

/**
 * Issues and verifies service account tokens.
 *
 * Verifying a signature takes about 0.1 ms on another thread; a cached token takes one lookup. Everything that can change
 * is checked every time: expiry, whether the key still exists, and whether the account and the bound objects exist.
 */
export class ServiceAccountTokens {
  readonly #options: ServiceAccountTokenOptions;
  readonly #verified = new LruCache<string, VerifiedToken>(maxVerified);
  #refreshed = 0;

  constructor(options: ServiceAccountTokenOptions) {
    this.#options = options;
  }

  get issuer(): string {
    return this.#options.issuer;
  }

  get audiences(): readonly string[] {
    return this.#options.audiences;
  }

  get keys(): TokenKeys {
    return this.#options.keys;
  }

  /** Issues a token that is valid from now on. */
  async sign({ audiences, seconds, claims }: TokenContent): Promise<string> {
    const { keys, issuer, clock, uid } = this.#options;
    const [{ SignJWT }, { kid, privateKey }] = await Promise.all([import('jose'), keys.signing()]);
    const now = Math.floor(clock() / 1000);
    const token = {
      aud: [...audiences],
      exp: now + seconds,
      iat: now,
      iss: issuer,
      jti: uid(),
      'kubernetes.io': claims,
      nbf: now,
      sub: accountUserName(claims.namespace, claims.serviceaccount.name),
    };
    return new SignJWT(token).setProtectedHeader({ alg: algorithm, kid }).sign(privateKey);
  }

  /** Verifies a token for at least one of `audiences`. */
  async verify(token: string, audiences: readonly string[]): Promise<Verdict> {
    const known = this.#verified.get(token) ?? (await this.#checkSignature(token));
    return 'claims' in known ? this.#checkClaims(token, known, audiences) : known;
  }

  /** Verifies a cached token synchronously; undefined if the token is not cached. */
  verifyCached(token: string): Verdict | undefined {
    const known = this.#verified.get(token);
    return known === undefined ? undefined : this.#checkClaims(token, known, this.#options.audiences);
  }

  /** Checks everything but the signature. */
  #checkClaims(token: string, { kid, claims, user }: VerifiedToken, audiences: readonly string[]): Verdict {
    const { keys, lookup, clock } = this.#options;
    const now = clock();
    this.#refreshPeriodically(now);
    if (keys.get(kid) === undefined) {
      this.#verified.delete(token);
      return unknownToken;
    }
    if (now / 1000 >= claims.exp + leewaySeconds) {
      this.#verified.delete(token);
      return refused('service account token has expired');
    }
    if (now / 1000 < claims.nbf - maxClockLagSeconds) return refused('service account token is not valid yet');
    const own = new Set(claims.aud);
    const shared = audiences.filter((audience) => own.has(audience));
    if (shared.length === 0) {
      return refused(
        `token audiences ${truncate(quoted(claims.aud))} is invalid for the target audiences ${truncate(quoted(audiences))}`,
      );
    }
    const error = boundObjectError(claims['kubernetes.io'], lookup, now);
    return error === undefined ? { valid: true, user, audiences: shared } : refused(error);
  }

  async #checkSignature(token: string): Promise<VerifiedToken | Verdict> {
    if (token.length > maxTokenLength) return unknownToken;
    const parts = token.split('.');
    const [header = '', , signature = ''] = parts;
    if (parts.length !== 3) return unknownToken;
    const kid = kidOf(header);
    if (kid === undefined) return unknownToken;
    const key = await this.#findKey(kid);
    if (key === undefined) return unknownToken;
    // Rejects other base64url encodings of the same signature, so that a token has exactly one form.
    if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) return unknownToken;
    const { jwtVerify, errors } = await import('jose');
    let verified: JWTVerifyResult;
    try {
      verified = await jwtVerify(token, key.publicKey, {
        algorithms: [algorithm],
        issuer: this.#options.issuer,
        clockTolerance: maxClockLagSeconds, // #checkClaims enforces the exact limits
        currentDate: new Date(this.#options.clock()),
      });
    } catch (error) {
      if (error instanceof errors.JWTExpired) return refused('service account token has expired');
      if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'nbf') {
        return refused('service account token is not valid yet');
      }
      return unknownToken; // not issued here, or modified
    }
    const claims = readClaims(verified.payload);
    if (claims === undefined) return unknownToken;
    const known = { kid, claims, user: userOf(claims) };
    this.#verified.set(token, known);
    return known;
  }

  /** Another server may have created a key that is not loaded yet. */
  async #findKey(kid: string): Promise<ReturnType<TokenKeys['get']>> {
    const { keys } = this.#options;
    const key = keys.get(kid);
    if (key !== undefined) return key;
    await keys.refresh(kid);
    return keys.get(kid);
  }

  /** Detects removed keys, which revoke their tokens. */
  #refreshPeriodically(now: number): void {
    if (Math.abs(now - this.#refreshed) < refreshEveryMs) return;
    this.#refreshed = now;
    void this.#options.keys.refresh(); // in the background, for the next request
  }
}

const refused = (error: string): Verdict => ({ valid: false, error });

/** The key ID in the header of a token; undefined for other algorithms or without one. */
function kidOf(header: string): string | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(header, 'base64url').toString());
    if (!isJsonObject(value)) return undefined;
    const { kid, alg } = value;
    return typeof kid === 'string' && alg === algorithm ? kid : undefined;
  } catch {
    return undefined; // not a JWT
  }
}

function userOf(claims: TokenClaims): User {
  const { namespace, serviceaccount, pod, node } = claims['kubernetes.io'];
  return authenticated({
    name: claims.sub,
    uid: serviceaccount.uid,
    groups: accountGroups(namespace),
    extra: {
      [credentialId]: [`JTI=${claims.jti}`],
      ...(node === undefined ? {} : { 'authentication.kubernetes.io/node-name': [node.name] }),
      ...(node?.uid === undefined ? {} : { 'authentication.kubernetes.io/node-uid': [node.uid] }),
      ...(pod === undefined ? {} : { 'authentication.kubernetes.io/pod-name': [pod.name] }),
      ...(pod === undefined ? {} : { 'authentication.kubernetes.io/pod-uid': [pod.uid] }),
    },
  });
}
