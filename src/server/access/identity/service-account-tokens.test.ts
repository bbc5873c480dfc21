import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { base64url, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose';

import type { KubernetesClaims } from './claims.ts';
import type { TokenWorld } from './testing/tokens.ts';
import { cart, issuer, TestKeys, tokenWorld } from './testing/tokens.ts';

const sign = (
  world: TokenWorld,
  claims: KubernetesClaims = cart,
  audiences: readonly string[] = [issuer],
): Promise<string> => world.tokens.sign({ audiences, seconds: 3600, claims });

const bound = (changes: Partial<KubernetesClaims>): KubernetesClaims => ({ ...cart, ...changes });

test('a token authenticates its account', async () => {
  const world = tokenWorld();
  assert.deepEqual(await world.tokens.verify(await sign(world), [issuer, 'other']), {
    valid: true,
    audiences: [issuer],
    user: {
      name: 'system:serviceaccount:shop:cart',
      uid: 'cart-1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=id-1'] },
    },
  });
});

test('a token of a Pod names the Pod and its node', async () => {
  const world = tokenWorld();
  world.objects.set('pods/shop/web', { uid: 'pod-1' });
  const token = await sign(world, bound({ pod: { name: 'web', uid: 'pod-1' }, node: { name: 'n1', uid: 'node-1' } }));
  const verdict = await world.tokens.verify(token, [issuer]);
  assert.ok(verdict.valid); // although the node no longer exists
  assert.deepEqual(verdict.user.extra, {
    'authentication.kubernetes.io/credential-id': ['JTI=id-1'],
    'authentication.kubernetes.io/node-name': ['n1'],
    'authentication.kubernetes.io/node-uid': ['node-1'],
    'authentication.kubernetes.io/pod-name': ['web'],
    'authentication.kubernetes.io/pod-uid': ['pod-1'],
  });
});

test('rejects a token over 16 KiB and truncates long audience lists in the error', async () => {
  const world = tokenWorld();
  const many = Array.from({ length: 5000 }, (_, index) => `audience-${index}`);
  assert.deepEqual(await world.tokens.verify(await sign(world, cart, many), many), { valid: false });
  for (const token of ['.'.repeat(3_000_000), `a.b.${'c'.repeat(3_000_000)}`]) {
    assert.equal((await world.tokens.verify(token, [issuer])).valid, false);
  }
  const verdict = await world.tokens.verify(await sign(world), many);
  assert.ok(!verdict.valid && (verdict.error ?? '').length < 2000);
});

test('issues the claims of Kubernetes', async () => {
  const world = tokenWorld();
  const [header = '', payload = ''] = (await sign(world, cart, ['a', 'b'])).split('.');
  const decoded = (text: string): unknown => JSON.parse(Buffer.from(text, 'base64url').toString());
  assert.deepEqual(decoded(header), { alg: 'ES256', kid: world.keys.all()[0]?.kid });
  assert.deepEqual(decoded(payload), {
    aud: ['a', 'b'],
    exp: 1772370000,
    iat: 1772366400,
    iss: issuer,
    jti: 'id-1',
    'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'cart', uid: 'cart-1' } },
    nbf: 1772366400,
    sub: 'system:serviceaccount:shop:cart',
  });
});

const minute = 60_000;
const pod = { name: 'web', uid: 'pod-1' };

const changes: readonly {
  readonly name: string;
  readonly claims?: KubernetesClaims;
  readonly audiences?: readonly string[];
  readonly change: (world: TokenWorld) => void;
  /** The error; undefined: the token is unknown; `ok`: it is valid. */
  readonly want: string | undefined;
}[] = [
  { name: 'in its last minute', change: (world) => (world.now += 60 * minute), want: 'ok' },
  { name: 'within the allowed clock skew', change: (world) => (world.now += 61 * minute - 1000), want: 'ok' },
  { name: 'expired', change: (world) => (world.now += 61 * minute), want: 'service account token has expired' },
  { name: 'a clock that is a day behind', change: (world) => (world.now -= 24 * 60 * minute), want: 'ok' },
  {
    name: 'before it is valid',
    change: (world) => (world.now -= 24 * 60 * minute + 1000),
    want: 'service account token is not valid yet',
  },
  {
    name: 'for another audience',
    audiences: ['vault', 'bank'],
    change: () => undefined,
    want: `token audiences ["vault" "bank"] is invalid for the target audiences ["${issuer}"]`,
  },
  {
    name: 'the account is deleted',
    change: ({ objects }) => objects.delete('serviceaccounts/shop/cart'),
    want: 'serviceaccounts "cart" not found',
  },
  {
    name: 'the account is recreated',
    change: ({ objects }) => objects.set('serviceaccounts/shop/cart', { uid: 'cart-2' }),
    want: 'service account UID (cart-2) does not match claim (cart-1)',
  },
  {
    name: 'the account is terminating',
    change: ({ objects }) =>
      objects.set('serviceaccounts/shop/cart', { uid: 'cart-1', deletionTimestamp: '2026-03-01T11:58:00Z' }),
    want: 'service account shop/cart has been deleted',
  },
  {
    name: 'the account is terminating for less than a minute',
    change: ({ objects }) =>
      objects.set('serviceaccounts/shop/cart', { uid: 'cart-1', deletionTimestamp: '2026-03-01T11:59:30Z' }),
    want: 'ok',
  },
  {
    name: 'its Pod is deleted',
    claims: bound({ pod }),
    change: ({ objects }) => objects.delete('pods/shop/web'),
    want: 'service account token has been invalidated',
  },
  {
    name: 'its Pod is recreated',
    claims: bound({ pod }),
    change: ({ objects }) => objects.set('pods/shop/web', { uid: 'pod-2' }),
    want: 'pod UID (pod-2) does not match service account pod ref claim (pod-1)',
  },
  {
    name: 'its Secret is deleted',
    claims: bound({ secret: { name: 'key', uid: 'secret-1' } }),
    change: ({ objects }) => objects.delete('secrets/shop/key'),
    want: 'service account token has been invalidated',
  },
  {
    name: 'its Secret is recreated',
    claims: bound({ secret: { name: 'key', uid: 'secret-1' } }),
    change: ({ objects }) => objects.set('secrets/shop/key', { uid: 'secret-2' }),
    want: 'secret UID (secret-2) does not match service account secret ref claim (secret-1)',
  },
  {
    name: 'its node is deleted',
    claims: bound({ node: { name: 'n1', uid: 'node-1' } }),
    change: ({ objects }) => objects.delete('nodes//n1'),
    want: 'service account token has been invalidated',
  },
  {
    name: 'its node is recreated',
    claims: bound({ node: { name: 'n1', uid: 'node-1' } }),
    change: ({ objects }) => objects.set('nodes//n1', { uid: 'node-2' }),
    want: 'node UID (node-2) does not match service account node ref claim (node-1)',
  },
  { name: 'a new key signs', change: ({ keys }) => keys.add(), want: 'ok' },
  { name: 'its key is removed', change: ({ keys }) => keys.files.splice(0), want: undefined },
];

describe('a token reflects later changes', () => {
  for (const { name, claims = cart, audiences = [issuer], change, want } of changes) {
    // Cached tokens give the same result.
    for (const isCached of [false, true]) {
      test(`${name}${isCached ? ', cached' : ''}`, async () => {
        const world = tokenWorld();
        world.objects.set('pods/shop/web', { uid: 'pod-1' });
        world.objects.set('secrets/shop/key', { uid: 'secret-1' });
        world.objects.set('nodes//n1', { uid: 'node-1' });
        const token = await sign(world, claims, audiences);
        if (isCached) await world.tokens.verify(token, [issuer]);
        change(world);
        await world.keys.refresh();
        const verdict = await world.tokens.verify(token, [issuer]);
        assert.equal(verdict.valid ? 'ok' : verdict.error, want);
        assert.deepEqual(world.tokens.verifyCached(token) ?? verdict, verdict);
      });
    }
  }
});

describe('forged tokens', () => {
  const world = tokenWorld();
  const payload = {
    aud: [issuer],
    exp: 1772370000,
    iat: 1772366400,
    nbf: 1772366400,
    iss: issuer,
    jti: 'x',
    sub: 'system:serviceaccount:shop:cart',
    'kubernetes.io': cart,
  };
  const key = async (): Promise<Awaited<ReturnType<TestKeys['signing']>>> => world.keys.signing();
  const forge = async (header: Record<string, unknown>, claims: Record<string, unknown> = payload): Promise<string> => {
    const { privateKey, kid } = await key();
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid, ...header }).sign(privateKey);
  };
  const spelled = async (change: (parts: [string, string, string]) => readonly string[]): Promise<string> =>
    change((await forge({})).split('.') as [string, string, string]).join('.');
  const header = (fields: Record<string, unknown>): string => base64url.encode(JSON.stringify(fields));

  test('the test signs correctly with the right key', async () => {
    assert.equal((await world.tokens.verify(await forge({}), [issuer])).valid, true);
  });

  const forgeries: Readonly<Record<string, () => string | Promise<string>>> = {
    'no signature (alg none)': () => new UnsecuredJWT(payload).encode(),
    'alg none with a key': async () =>
      spelled(([, claims]) => [header({ alg: 'none', kid: world.keys.all()[0]?.kid }), claims, '']),
    'HS256 with the public key as the secret': async () => {
      const { publicKey, kid } = await key();
      const secret = Buffer.from(publicKey.export({ type: 'spki', format: 'pem' }));
      return new SignJWT(payload).setProtectedHeader({ alg: 'HS256', kid }).sign(secret);
    },
    'HS256 with an empty secret': async () =>
      new SignJWT(payload).setProtectedHeader({ alg: 'HS256', kid: (await key()).kid }).sign(new Uint8Array(32)),
    'another key': async () => {
      const { privateKey } = new TestKeys().add();
      return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: (await key()).kid }).sign(privateKey);
    },
    'a key in the header': async () => {
      const { privateKey, publicKey, kid } = new TestKeys().add();
      const jwk = publicKey.export({ format: 'jwk' });
      return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid, jwk }).sign(privateKey);
    },
    'no kid': async () => forge({ kid: undefined }),
    'an empty kid': async () => forge({ kid: '' }),
    'a kid that is a path': async () => forge({ kid: '../../../dev/null' }),
    'a kid that is a name of an object': async () => forge({ kid: '__proto__' }),
    'a kid that is a number': async () => spelled(([, ...rest]) => [header({ alg: 'ES256', kid: 0 }), ...rest]),
    'a kid that is a list': async () =>
      spelled(([, ...rest]) => [header({ alg: 'ES256', kid: [world.keys.all()[0]?.kid] }), ...rest]),
    'an unknown critical header': async () =>
      spelled(([first, ...rest]) => [
        header({ ...decodeProtectedHeader(`${first}.e30.`), crit: ['exp'], exp: 1 }),
        ...rest,
      ]),
    'another issuer': async () => forge({}, { ...payload, iss: 'https://elsewhere.example.org' }),
    'no issuer': async () => forge({}, { ...payload, iss: undefined }),
    'no expiry': async () => forge({}, { ...payload, exp: undefined }),
    'an expiry that is text': async () => forge({}, { ...payload, exp: '9999999999' }),
    'no account': async () => forge({}, { ...payload, 'kubernetes.io': undefined }),
    'an account of another name': async () => forge({}, { ...payload, sub: 'system:serviceaccount:shop:admin' }),
    'a Pod without a UID': async () => forge({}, { ...payload, 'kubernetes.io': { ...cart, pod: { name: 'web' } } }),
    'audiences that are no list': async () => forge({}, { ...payload, aud: { 0: issuer } }),
    'the signature of another token': async () => {
      const other = (await forge({}, { ...payload, jti: 'y' })).split('.');
      return spelled(([first, second]) => [first, second, other[2] ?? '']);
    },
    'a signature in DER': async () =>
      spelled(([first, second]) => [first, second, 'MEUCIQD6XeOfKJ6xXU9w6xKxRvQpZsvbDL3q']),
    'a signature of zeros': async () =>
      spelled(([first, second]) => [first, second, base64url.encode(new Uint8Array(64))]),
    'no signature': async () => spelled(([first, second]) => [first, second, '']),
    padding: async () => `${await forge({})}==`,
    'a space at the end': async () => `${await forge({})} `,
    'four parts': async () => `${await forge({})}.e30`,
    'five parts, as an encrypted token': async () => `${await forge({})}.e30.e30`,
    'nothing at all': () => '',
    dots: () => '..',
    'a header that is no JSON': async () => spelled(([, ...rest]) => ['eyJh', ...rest]),
    'a header that is null': async () => spelled(([, ...rest]) => [base64url.encode('null'), ...rest]),
  };
  for (const [name, forgery] of Object.entries(forgeries)) {
    test(`rejects ${name}`, async () => {
      assert.deepEqual(await world.tokens.verify(await forgery(), [issuer]), { valid: false });
    });
  }

  test('rejects a token of another cluster, also with the same issuer', async () => {
    const other = tokenWorld();
    assert.deepEqual(await world.tokens.verify(await sign(other), [issuer]), { valid: false });
  });

  test('rejects a token with any mutation', async () => {
    const good = await forge({});
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n\u0000é';
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            at: fc.nat(good.length),
            remove: fc.nat(3),
            insert: fc.string({ unit: fc.constantFrom(...Array.from(alphabet)), maxLength: 3 }),
          }),
          { minLength: 1, maxLength: 4 },
        ),
        async (edits) => {
          let token = good;
          for (const { at, remove, insert } of edits) token = token.slice(0, at) + insert + token.slice(at + remove);
          fc.pre(token !== good);
          assert.equal((await world.tokens.verify(token, [issuer])).valid, false);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('accepts only one encoding of a signature', async () => {
    const good = await forge({});
    // The last of 86 characters carries two bits: 16 encodings decode to the same bytes.
    for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
      const token = good.slice(0, -1) + last;
      assert.equal((await world.tokens.verify(token, [issuer])).valid, token === good, last);
    }
  });
});

test('loads a key of another server when a token uses it', async () => {
  const world = tokenWorld();
  const other = tokenWorld({ keys: world.keys });
  await world.tokens.verify(await sign(world), [issuer]);
  const key = world.keys.add();
  const { refreshes } = world.keys;
  const token = await new SignJWT({
    aud: [issuer],
    exp: 1772370000,
    iat: 1772366400,
    nbf: 1772366400,
    iss: issuer,
    jti: 'x',
    sub: 'system:serviceaccount:shop:cart',
    'kubernetes.io': cart,
  })
    .setProtectedHeader({ alg: 'ES256', kid: key.kid })
    .sign(key.privateKey);
  assert.equal((await world.tokens.verify(token, [issuer])).valid, true);
  assert.ok(world.keys.refreshes > refreshes);
  assert.equal((await other.tokens.verify(token, [issuer])).valid, true);
});

test('removing a key revokes cached tokens within about a second', async () => {
  const world = tokenWorld();
  const token = await sign(world);
  assert.equal((await world.tokens.verify(token, [issuer])).valid, true);
  world.keys.files.splice(0);
  world.now += 1500;
  world.tokens.verifyCached(token); // refreshes in the background
  await world.keys.refresh();
  assert.deepEqual(await world.tokens.verify(token, [issuer]), { valid: false });
  assert.equal(world.tokens.verifyCached(token), undefined); // evicted
});
