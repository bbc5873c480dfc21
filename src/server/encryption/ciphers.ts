// The ciphers of Kubernetes' providers in its layout: the nonce or initialization vector, then the ciphertext with its tag.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

import type { EncryptionKey, KeyedProvider } from './config.ts';

/** Encrypts and decrypts with one key. `context` is the storage key of the value. */
export interface Cipher {
  encrypt(plain: Buffer, context: string): Buffer;
  /** Throws if the data is modified or was encrypted with another key. */
  decrypt(sealed: Buffer, context: string): Buffer;
}

export async function cipherOf(type: KeyedProvider, { secret }: Pick<EncryptionKey, 'secret'>): Promise<Cipher> {
  switch (type) {
    case 'aesgcm':
      return aesGcm(secret);
    case 'aescbc':
      return aesCbc(secret);
    case 'secretbox':
      return secretbox(secret);
  }
}

const tooShort = 'the stored data was shorter than the required size';

const gcmNonceBytes = 12;
const gcmTagBytes = 16;

/** The storage key is authenticated with the data, so that a value cannot be moved to another object. */
function aesGcm(secret: Buffer): Cipher {
  const algorithm = `aes-${secret.length * 8}-gcm` as 'aes-256-gcm'; // one type for the three lengths
  return {
    encrypt(plain, context) {
      const nonce = randomBytes(gcmNonceBytes);
      const cipher = createCipheriv(algorithm, secret, nonce, { authTagLength: gcmTagBytes });
      cipher.setAAD(Buffer.from(context));
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    decrypt(sealed, context) {
      if (sealed.length < gcmNonceBytes + gcmTagBytes) throw new Error(tooShort);
      const nonce = sealed.subarray(0, gcmNonceBytes);
      const decipher = createDecipheriv(algorithm, secret, nonce, { authTagLength: gcmTagBytes });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(sealed.subarray(-gcmTagBytes));
      return withMessage('cipher: message authentication failed', () =>
        Buffer.concat([decipher.update(sealed.subarray(gcmNonceBytes, -gcmTagBytes)), decipher.final()]),
      );
    },
  };
}

const blockBytes = 16;

function aesCbc(secret: Buffer): Cipher {
  const algorithm = `aes-${secret.length * 8}-cbc`;
  return {
    encrypt(plain) {
      const vector = randomBytes(blockBytes);
      const cipher = createCipheriv(algorithm, secret, vector);
      return Buffer.concat([vector, cipher.update(plain), cipher.final()]);
    },
    decrypt(sealed) {
      if (sealed.length < 2 * blockBytes) throw new Error(tooShort);
      if (sealed.length % blockBytes !== 0) throw new Error('the stored data is not a multiple of the block size');
      const decipher = createDecipheriv(algorithm, secret, sealed.subarray(0, blockBytes));
      return withMessage('invalid padding on input', () =>
        Buffer.concat([decipher.update(sealed.subarray(blockBytes)), decipher.final()]),
      );
    },
  };
}

const boxNonceBytes = 24;
const boxTagBytes = 16;

/** Loads the library on demand: no other provider needs it. */
async function secretbox(secret: Buffer): Promise<Cipher> {
  const { xsalsa20poly1305 } = await import('@noble/ciphers/salsa.js');
  return {
    encrypt(plain) {
      const nonce = randomBytes(boxNonceBytes);
      return Buffer.concat([nonce, xsalsa20poly1305(secret, nonce).encrypt(plain)]);
    },
    decrypt(sealed) {
      if (sealed.length < boxNonceBytes + boxTagBytes) throw new Error(tooShort);
      const nonce = sealed.subarray(0, boxNonceBytes);
      return withMessage('secretbox: message authentication failed', () =>
        Buffer.from(xsalsa20poly1305(secret, nonce).decrypt(sealed.subarray(boxNonceBytes))),
      );
    },
  };
}

/** Replaces the errors of the libraries by the message of Kubernetes. */
function withMessage(message: string, decrypt: () => Buffer): Buffer {
  try {
    return decrypt();
  } catch (error) {
    throw new Error(message, { cause: error });
  }
}
