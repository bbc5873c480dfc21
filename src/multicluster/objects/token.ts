// Tokens of service accounts: whose they are, and when to replace them.

/** The claims of a service account token. The API server verifies tokens; here only their times are read. */
export interface TokenClaims {
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  readonly namespace: string;
  readonly account: string;
}

/** A token is replaced after this part of its lifetime, which leaves time to retry and to react. */
const renewalPoint = 0.7;

/** The lifetime that is requested for a new token: a kube-apiserver rejects less than ten minutes. */
const shortestSeconds = 600;

/** The claims of a token of a service account that expires; undefined: another token. */
export function claimsOf(token: string | undefined): TokenClaims | undefined {
  const [, payload = ''] = token?.split('.') ?? [];
  try {
    const { exp, iat, 'kubernetes.io': owner } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Payload;
    const [namespace, account] = [owner?.namespace, owner?.serviceaccount?.name];
    if (
      typeof exp !== 'number' ||
      typeof iat !== 'number' ||
      typeof namespace !== 'string' ||
      typeof account !== 'string'
    )
      return undefined;
    return { issuedAtMs: iat * 1000, expiresAtMs: exp * 1000, namespace, account };
  } catch {
    return undefined; // not a JSON Web Token
  }
}

/** The parts of a token that are read; any of them may be missing or of another type. */
interface Payload {
  readonly exp?: unknown;
  readonly iat?: unknown;
  readonly 'kubernetes.io'?: { readonly namespace?: unknown; readonly serviceaccount?: { readonly name?: unknown } };
}

/** When to replace a token, in milliseconds since 1970. */
export const renewAtMs = ({ issuedAtMs, expiresAtMs }: TokenClaims): number =>
  issuedAtMs + renewalPoint * (expiresAtMs - issuedAtMs);

/** The lifetime to request for the next token: that of the last one. */
export const lifetimeSeconds = ({ issuedAtMs, expiresAtMs }: TokenClaims): number =>
  Math.max(shortestSeconds, Math.round((expiresAtMs - issuedAtMs) / 1000));
