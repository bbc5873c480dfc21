import { createHash } from 'node:crypto';

import { messageOf } from '../../api/error-message.ts';
import { bytesOfValue, valueOfBytes } from '../../store/bytes.ts';
import type { Cipher } from './ciphers.ts';
import { cipherOf } from './ciphers.ts';
import type { KeyedProvider, StorageProvider } from './config.ts';

/** The prefix of every encrypted value; an object in JSON starts with a brace. */
const encryptedPrefix = 'k8s:enc:';

/** Whether a stored value is encrypted, by this server or by a kube-apiserver. */
export const isEncrypted = (value: string): boolean =>
  bytesOfValue(value).subarray(0, encryptedPrefix.length).toString('latin1') === encryptedPrefix;

/** The error of Kubernetes' identity provider for an encrypted value. */
export const readsEncrypted = 'identity transformer tried to read encrypted data';

/** One key of one provider. Its values are a prefix such as `k8s:enc:aesgcm:v1:key1:` and base64 data. */
interface StorageKey {
  readonly prefix: string;
  readonly cipher: Cipher;
  /** Equal for the same key with the same name, also after a reload. */
  readonly id: string;
}

/** A value and the ID of its key; '' if it was not encrypted. */
export interface Decrypted {
  readonly value: string;
  readonly keyId: string;
}

/** The labels of one transformation metric. */
export interface TransformationCounts {
  readonly type: 'from_storage' | 'to_storage';
  readonly prefix: string;
  readonly status: 'OK' | 'Internal';
}

/** Encrypts the values of some resources with the first key and decrypts them with any key. */
export class Transformer {
  /** The first one encrypts; undefined is the identity provider. */
  readonly #keys: readonly (StorageKey | undefined)[];
  readonly #providers: readonly StorageProvider[];
  readonly #onUse: (use: TransformationCounts) => void;

  private constructor(
    providers: readonly StorageProvider[],
    keys: readonly (StorageKey | undefined)[],
    onUse: (use: TransformationCounts) => void,
  ) {
    this.#providers = providers;
    this.#keys = keys;
    this.#onUse = onUse;
  }

  static async create(
    providers: readonly StorageProvider[],
    onUse: (use: TransformationCounts) => void = () => undefined,
  ): Promise<Transformer> {
    const keys = await Promise.all(
      providers.map(async (provider) => {
        if (provider.type === 'identity') return [undefined];
        const { type } = provider;
        return Promise.all(
          provider.keys.map(async (key) => {
            const prefix = `${providerPrefix(type)}${key.name}:`;
            const id = createHash('sha256').update(prefix).update(key.secret).digest('base64');
            return { prefix, id, cipher: await cipherOf(type, key) };
          }),
        );
      }),
    );
    return new Transformer(providers, keys.flat(), onUse);
  }

  /** Encrypts a value for the store. */
  toStorage(value: string, storageKey: string): string {
    const [first] = this.#keys;
    if (first === undefined) return value;
    const { prefix, cipher } = first;
    this.#onUse({ type: 'to_storage', prefix, status: 'OK' });
    return prefix + cipher.encrypt(Buffer.from(value), storageKey).toString('base64');
  }

  /** The ID of the encrypting key; '' for the identity provider. */
  get keyId(): string {
    return this.#keys[0]?.id ?? '';
  }

  /** Decrypts a stored value. Throws if no provider can. */
  fromStorage(stored: string, storageKey: string): Decrypted {
    const errors: string[] = [];
    for (const key of this.#keys) {
      if (key === undefined) {
        if (!stored.startsWith(encryptedPrefix)) return { value: stored, keyId: '' };
        continue; // a later provider may read it
      }
      const sealed = sealedWith(key, stored);
      if (sealed === undefined) continue;
      try {
        const value = valueOfBytes(key.cipher.decrypt(sealed, storageKey));
        this.#onUse({ type: 'from_storage', prefix: key.prefix, status: 'OK' });
        return { value, keyId: key.id };
      } catch (error) {
        // Two keys may have the same name while one replaces the other.
        errors.push(messageOf(error));
      }
    }
    this.#onUse({ type: 'from_storage', prefix: 'unknown', status: 'Internal' });
    throw new Error(errors.length === 0 ? this.#noKey(stored) : joined(errors));
  }

  #noKey(stored: string): string {
    const provider = this.#providers.find(({ type }) => type !== 'identity' && stored.startsWith(providerPrefix(type)));
    if (provider === undefined) return 'no matching prefix found';
    const name = provider.type === 'secretbox' ? 'Secretbox' : 'AES';
    return `no matching key was found for the provided ${name} transformer`;
  }
}

/** The encrypted bytes of a value with the prefix of a key. A kube-apiserver stores them without base64. */
function sealedWith({ prefix }: StorageKey, stored: string): Buffer | undefined {
  if (stored.startsWith(prefix)) return Buffer.from(stored.slice(prefix.length), 'base64');
  const bytes = bytesOfValue(stored);
  return bytes.subarray(0, prefix.length).toString('latin1') === prefix ? bytes.subarray(prefix.length) : undefined;
}

const providerPrefix = (type: KeyedProvider): string => `${encryptedPrefix}${type}:v1:`;

const joined = (errors: readonly string[]): string =>
  errors.length === 1 ? (errors[0] ?? '') : `[${[...new Set(errors)].join(', ')}]`;
