import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { suite, test } from 'node:test';
import fc from 'fast-check';

import { cipherOf } from './ciphers.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

suite('published test vectors', () => {
  test('secretbox: the vector of NaCl', async () => {
    const cipher = await cipherOf('secretbox', {
      secret: hex('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389'),
    });
    const nonce = hex('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37');
    const plain = hex(
      'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4' +
        '1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e' +
        '52f0a089bc76897040e082f937763848645e0705',
    );
    const sealed = hex(
      'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b' +
        '4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9' +
        'da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5',
    );
    assert.deepEqual(cipher.decrypt(Buffer.concat([nonce, sealed]), ''), plain);
  });

  test('AES-GCM: case 16 of the GCM specification, with additional data', async () => {
    const secret = hex('feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308');
    const nonce = hex('cafebabefacedbaddecaf888');
    const plain = hex(
      'd9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39',
    );
    const sealed = hex(
      '522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662' +
        '76fc6ece0f4e1768cddf8853bb2d551b',
    );
    // The additional data of the vector is binary, so this tests the cipher of Node, and compares ours with it.
    const reference = createCipheriv('aes-256-gcm', secret, nonce);
    reference.setAAD(hex('feedfacedeadbeeffeedfacedeadbeefabaddad2'));
    const made = Buffer.concat([reference.update(plain), reference.final(), reference.getAuthTag()]);
    assert.deepEqual(made, sealed);
    const own = createCipheriv('aes-256-gcm', secret, nonce);
    own.setAAD(Buffer.from('/registry/secrets/default/a'));
    const stored = Buffer.concat([nonce, own.update(plain), own.final(), own.getAuthTag()]);
    const cipher = await cipherOf('aesgcm', { secret });
    assert.deepEqual(cipher.decrypt(stored, '/registry/secrets/default/a'), plain);
  });

  test('AES-CBC: F.2.5 of NIST SP 800-38A, with a block of padding', async () => {
    const secret = hex('603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4');
    const vector = hex('000102030405060708090a0b0c0d0e0f');
    const plain = hex('6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51');
    const blocks = hex('f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d');
    const whole = createCipheriv('aes-256-cbc', secret, vector);
    const stored = Buffer.concat([whole.update(plain), whole.final()]);
    assert.deepEqual(stored.subarray(0, 32), blocks);
    const cipher = await cipherOf('aescbc', { secret });
    assert.deepEqual(cipher.decrypt(Buffer.concat([vector, stored]), ''), plain);
  });
});

const lengths = { aesgcm: [16, 24, 32], aescbc: [16, 24, 32], secretbox: [32] } as const;
const types = ['aesgcm', 'aescbc', 'secretbox'] as const;
const bytes = (length: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((array) => Buffer.from(array));
const data = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));

for (const type of types) {
  suite(type, () => {
    for (const length of lengths[type]) {
      test(`decrypts what it encrypted with a key of ${length} bytes, and never produces a ciphertext twice`, () =>
        fc.assert(
          fc.asyncProperty(bytes(length), data, fc.string(), async (secret, plain, context) => {
            const cipher = await cipherOf(type, { secret });
            const sealed = cipher.encrypt(plain, context);
            assert.deepEqual(cipher.decrypt(sealed, context), plain);
            assert.notDeepEqual(cipher.encrypt(plain, context), sealed);
          }),
        ));
    }

    test('rejects data that is too short', async () => {
      const cipher = await cipherOf(type, { secret: Buffer.alloc(32, 1) });
      for (let length = 0; length < 28; length++) {
        assert.throws(() => cipher.decrypt(Buffer.alloc(length), ''), /shorter than the required size/);
      }
    });

    // AES-CBC has no authentication, so Kubernetes advises against it.
    if (type === 'aescbc') return;
    test('rejects data with any changed bit, and data of another key', () =>
      fc.assert(
        fc.asyncProperty(bytes(32), data, fc.nat(), async (secret, plain, place) => {
          const cipher = await cipherOf(type, { secret });
          const sealed = cipher.encrypt(plain, 'context');
          const bit = place % (sealed.length * 8);
          const changed = Buffer.from(sealed);
          changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
          assert.throws(() => cipher.decrypt(changed, 'context'), /message authentication failed/);
          const other = await cipherOf(type, { secret: Buffer.from(secret.map((byte) => byte ^ 1)) });
          assert.throws(() => other.decrypt(sealed, 'context'), /message authentication failed/);
        }),
      ));
  });
}

test('AES-GCM rejects a value that was copied from another object', async () => {
  const cipher = await cipherOf('aesgcm', { secret: Buffer.alloc(32, 1) });
  const sealed = cipher.encrypt(Buffer.from('x'), '/registry/secrets/shop/a');
  assert.throws(() => cipher.decrypt(sealed, '/registry/secrets/shop/b'), /message authentication failed/);
});
