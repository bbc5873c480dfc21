import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import { decodeToken, encodeToken } from './continue-token.ts';

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

test('a token has the format of Kubernetes', () => {
  const token = encodeToken({ revision: 12, start: 'shop/web\0' });
  assert.deepEqual(JSON.parse(Buffer.from(token, 'base64url').toString()), {
    v: 'meta.k8s.io/v1',
    rv: 12,
    start: 'shop/web\0',
  });
  assert.match(token, /^[A-Za-z0-9_-]+$/);
});

test('decodes what it encodes', () => {
  const names = fc.string({ unit: fc.constantFrom('a', 'z', '0', '-', '.'), minLength: 1 });
  const revisions = fc.oneof(fc.constant(-1), fc.integer({ min: 1 }));
  fc.assert(
    fc.property(revisions, names, fc.option(names), (revision, name, namespace) => {
      const token = { revision, start: `${namespace === null ? '' : `${namespace}/`}${name}\0` };
      fc.pre(!token.start.split('/').includes('..'));
      assert.deepEqual(decodeToken(encodeToken(token)), token);
    }),
  );
});

suite('the reason for a rejected token', () => {
  const prefix = 'invalid continue token: continue key is not valid: ';
  const table: readonly (readonly [token: string, why: string])[] = [
    ['x', 'illegal base64 data at input byte 0'],
    ['a b', 'illegal base64 data at input byte 1'],
    ['abc', "invalid character 'i' looking for beginning of value"],
    [encoded({ v: 'x', rv: 1, start: 'a' }), 'server does not recognize this encoded version x'],
    [
      encoded({ v: 'meta.k8s.io/v1', rv: 0, start: 'a' }),
      'incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
    ],
    [encoded({ v: 'meta.k8s.io/v1', rv: 1, start: '../a' }), '../a'],
  ];
  for (const [token, why] of table) {
    test(why, () => assert.throws(() => decodeToken(token), { message: `${prefix}${why}` }));
  }
});

suite('rejects tokens of other servers', () => {
  const start = 'shop/web\0';
  const table: Readonly<Record<string, string>> = {
    text: 'abc',
    'bad letters': 'a b',
    padding: `${encoded({ v: 'meta.k8s.io/v1', rv: 1, start })}=`,
    'a list': encoded([]),
    null: encoded(null),
    'another version': encoded({ v: 'v2', rv: 1, start }),
    'no revision': encoded({ v: 'meta.k8s.io/v1', start }),
    'a revision that is text': encoded({ v: 'meta.k8s.io/v1', rv: '1', start }),
    'a fraction': encoded({ v: 'meta.k8s.io/v1', rv: 1.5, start }),
    'no revision at all': encoded({ v: 'meta.k8s.io/v1', rv: 0, start }),
    'no start': encoded({ v: 'meta.k8s.io/v1', rv: 1, start: '' }),
    'a way out': encoded({ v: 'meta.k8s.io/v1', rv: 1, start: '../secrets/a' }),
    'a root': encoded({ v: 'meta.k8s.io/v1', rv: 1, start: '/a' }),
  };
  for (const [name, token] of Object.entries(table)) {
    test(name, () =>
      assert.throws(() => decodeToken(token), /^Error: invalid continue token: continue key is not valid/),
    );
  }
});
