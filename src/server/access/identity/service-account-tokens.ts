import type { JWTVerifyResult } from 'jose';

import { truncate } from '../../../api/text.ts';
import type { User } from '../../reply.ts';
import type { Lookup } from './bound-objects.ts';
import { boundObjectError } from './bound-objects.ts';
import type { KubernetesClaims, TokenClaims } from './claims.ts';
import { accountGroups, accountUserName, readClaims } from './claims.ts';
import { LruCache } from './lru-cache.ts';
import type { TokenKeys } from './token-keys.ts';
import type { Verdict } from './verdict.ts';
import { authenticated, credentialId, unknownToken } from './verdict.ts';

export interface ServiceAccountTokenOptions {
  readonly keys: TokenKeys;
  /** Who makes the tokens: the `iss` claim, a URL. */
  readonly issuer: string;
  /** What this server is called in the `aud` claim. */
  readonly audiences: readonly string[];
  readonly lookup: Lookup;
  readonly clock: () => number;
  readonly uid: () => string;
}

/** What a token is to say. */
export interface TokenContent {
  readonly audiences: readonly string[];
  readonly seconds: number;
  readonly claims: KubernetesClaims;
}

/** A token whose signature was good, kept so that it need not be checked again. */
interface VerifiedToken {
  readonly kid: string;
  readonly claims: TokenClaims;
  readonly user: User;
}

const algorithm = 'ES256';
/** Servers' clocks may differ by this much, as in Kubernetes. */
const leewaySeconds = 60;
/** A server whose clock is behind accepts the tokens of others: we sign none that begin in the future. */
const clockBehindSeconds = 86_400;
/** About 1 KiB each. */
const mostKnown = 4096;
const refreshEveryMs = 1000;
/** Tokens have one or two kilobytes. A review may bring megabytes, and tokens that were right are kept. */
const maxTokenLength = 16 * 1024;

/**
 * Makes and checks the tokens of service accounts.
 *
 * A signature costs about 0.1 ms to check, on another thread; a known token costs a look-up. What can change is checked
 * every time: the clock, whether the key is still there, and whether the account and what the token is bound to exist.
 */
export class ServiceAccountTokens {
  readonly #options: ServiceAccountTokenOptions;
  readonly #known = new LruCache<string, VerifiedToken>(mostKnown);
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

  /** A new token, valid from now on. */
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

  /** Whom a token stands for when it is shown to one of `audiences`. */
  async verify(token: string, audiences: readonly string[]): Promise<Verdict> {
    const known = this.#known.get(token) ?? (await this.#checkSignature(token));
    return 'error' in known || !('claims' in known) ? known : this.#judge(token, known, audiences);
  }

  /** The same at once, for a token that was seen before; undefined when it has to be looked at. */
  verifyKnown(token: string): Verdict | undefined {
    const known = this.#known.get(token);
    return known === undefined ? undefined : this.#judge(token, known, this.#options.audiences);
  }

  /** Everything but the signature. */
  #judge(token: string, { kid, claims, user }: VerifiedToken, audiences: readonly string[]): Verdict {
    const { keys, lookup, clock } = this.#options;
    const now = clock();
    this.#refreshSometimes(now);
    if (keys.get(kid) === undefined) {
      this.#known.delete(token);
      return unknownToken;
    }
    if (now / 1000 >= claims.exp + leewaySeconds) {
      this.#known.delete(token);
      return refused('service account token has expired');
    }
    if (now / 1000 < claims.nbf - clockBehindSeconds) return refused('service account token is not valid yet');
    const own = new Set(claims.aud);
    const shared = audiences.filter((audience) => own.has(audience));
    if (shared.length === 0) {
      return refused(`token audiences ${quoted(claims.aud)} is invalid for the target audiences ${quoted(audiences)}`);
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
    const key = await this.#keyNamed(kid);
    if (key === undefined) return unknownToken;
    // Base64 has several spellings of the same bytes, of which one is right: a token has one form.
    if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) return unknownToken;
    const { jwtVerify, errors } = await import('jose');
    let verified: JWTVerifyResult;
    try {
      verified = await jwtVerify(token, key.publicKey, {
        algorithms: [algorithm],
        issuer: this.#options.issuer,
        clockTolerance: clockBehindSeconds, // the exact limits are those of every use, in #judge
        currentDate: new Date(this.#options.clock()),
      });
    } catch (error) {
      if (error instanceof errors.JWTExpired) return refused('service account token has expired');
      if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'nbf') {
        return refused('service account token is not valid yet');
      }
      return unknownToken; // not ours, or not as we made it
    }
    const claims = readClaims(verified.payload);
    if (claims === undefined) return unknownToken;
    const known = { kid, claims, user: userOf(claims) };
    this.#known.set(token, known);
    return known;
  }

  /** Another server over the same directory may have made a key that is not known here yet. */
  async #keyNamed(kid: string): Promise<ReturnType<TokenKeys['get']>> {
    const { keys } = this.#options;
    const key = keys.get(kid);
    if (key !== undefined) return key;
    await keys.refresh();
    return keys.get(kid);
  }

  /** A key that was removed revokes its tokens, so somebody has to look. */
  #refreshSometimes(now: number): void {
    if (Math.abs(now - this.#refreshed) < refreshEveryMs) return;
    this.#refreshed = now;
    void this.#options.keys.refresh(); // nobody waits: the next request sees what it finds
  }
}

const refused = (error: string): Verdict => ({ valid: false, error });

/** The name of the key in a token's header. A token without one, or for another algorithm, is none of ours. */
function kidOf(header: string): string | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(header, 'base64url').toString());
    if (typeof value !== 'object' || value === null) return undefined;
    if (!('kid' in value) || typeof value.kid !== 'string') return undefined;
    return 'alg' in value && value.alg === algorithm ? value.kid : undefined;
  } catch {
    return undefined; // not JSON: not a token of this kind
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

/** As Go prints a list of strings. */
const quoted = (words: readonly string[]): string =>
  truncate(`[${words.map((word) => JSON.stringify(word)).join(' ')}]`);
