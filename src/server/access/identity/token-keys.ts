import type { KeyObject } from 'node:crypto';
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';

/** A key that signs tokens of service accounts, or has signed them. */
export interface TokenKey {
  /** Names the key in the header of a token: the digest of its public half, as in Kubernetes. */
  readonly kid: string;
  /** When it was made, in milliseconds since the epoch. */
  readonly created: number;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** The keys of one cluster. What is held in memory may be old: `refresh` brings it up to date. */
export interface TokenKeys {
  /** A key by name, as far as it is known here. */
  get(kid: string): TokenKey | undefined;
  /** All keys that verify, the newest first. */
  all(): readonly TokenKey[];
  /** The key to sign with: the newest, whoever made it. */
  signing(): Promise<TokenKey>;
  /** Looks for keys that were added or removed since. Cheap when there are none; never rejects. */
  refresh(): Promise<void>;
}

/** No token is valid for longer; a key that no longer signs verifies for as long as that. */
export const longestTokenSeconds = 365 * 24 * 60 * 60;

/** A new key, as text for a file. */
export function generateTokenKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Reads a key; undefined when the text is not a private key for ES256. */
export function readTokenKey(pem: string, created: number): TokenKey | undefined {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(pem);
  } catch {
    return undefined; // damaged, or something else altogether
  }
  if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined;
  const publicKey = createPublicKey(privateKey);
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return { kid: createHash('sha256').update(der).digest('base64url'), created, privateKey, publicKey };
}

/** Keys for as long as a process lives: of tests, and of stores that forget too. */
export function memoryTokenKeys(clock: () => number): TokenKeys {
  let key: TokenKey | undefined;
  const only = (): TokenKey => (key ??= madeNow(clock));
  return {
    get: (kid) => (only().kid === kid ? only() : undefined),
    all: () => [only()],
    signing: async () => only(),
    refresh: async () => undefined,
  };
}

function madeNow(clock: () => number): TokenKey {
  const key = readTokenKey(generateTokenKey(), clock());
  if (key === undefined) throw new Error('bug: a new token key cannot be read');
  return key;
}
