import type { KeyObject } from 'node:crypto';
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';

/** A key that verifies service account tokens. */
export interface VerificationKey {
  /** The key ID in token headers: the digest of the public key, as in Kubernetes. */
  readonly kid: string;
  /** The creation time in milliseconds since the epoch. */
  readonly created: number;
  readonly publicKey: KeyObject;
}

/** A current or former signing key of service account tokens. */
export interface TokenKey extends VerificationKey {
  readonly privateKey: KeyObject;
}

/** The keys of one cluster. Keys in memory may be outdated; `refresh` reloads them. */
export interface TokenKeys extends Disposable {
  /** Returns a loaded key. */
  get(kid: string): VerificationKey | undefined;
  /** All keys that verify tokens, newest first. */
  all(): readonly VerificationKey[];
  /** The newest key of this server, which signs. */
  signing(): Promise<TokenKey>;
  /**
   * Loads added keys and drops removed ones. Cheap without changes; never rejects. `kid` is a key that is not loaded, and
   * which another server may just have created.
   */
  refresh(kid?: string): Promise<void>;
}

/** The maximum lifetime of a token. A key verifies for that long after it stops signing. */
export const longestTokenSeconds = 365 * 24 * 60 * 60;

/** Creates a key, PEM. */
export function generateTokenKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Reads a key; undefined if the text is not a private key for ES256. */
export function readTokenKey(pem: string, created: number): TokenKey | undefined {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(pem);
  } catch {
    return undefined; // damaged or not a key
  }
  if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined;
  const publicKey = createPublicKey(privateKey);
  return { kid: keyIdOf(publicKey), created, privateKey, publicKey };
}

/** The key ID of a public key. */
export const keyIdOf = (publicKey: KeyObject): string =>
  createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64url');

/** Keys in memory, for tests and memory stores. */
export function memoryTokenKeys(clock: () => number): TokenKeys {
  let key: TokenKey | undefined;
  const only = (): TokenKey => (key ??= createKey(clock));
  return {
    get: (kid) => (only().kid === kid ? only() : undefined),
    all: () => [only()],
    signing: async () => only(),
    refresh: async () => undefined,
    [Symbol.dispose]: () => undefined,
  };
}

function createKey(clock: () => number): TokenKey {
  const key = readTokenKey(generateTokenKey(), clock());
  if (key === undefined) throw new Error('bug: a new token key cannot be read');
  return key;
}
