import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTokenFile } from './token-file.ts';

test('a token file defines users, uids and groups', () => {
  const file = [
    '# made by hand',
    's3cret,alice,1001,"system:masters,dev"',
    '',
    'other, bob , 1002',
    '"with,comma","say ""hi""",3,one\r',
  ].join('\n');
  assert.deepEqual(parseTokenFile(file), [
    { token: 's3cret', user: 'alice', uid: '1001', groups: ['system:masters', 'dev'] },
    { token: 'other', user: 'bob', uid: '1002', groups: [] },
    { token: 'with,comma', user: 'say "hi"', uid: '3', groups: ['one'] },
  ]);
});

const errors: readonly (readonly [name: string, given: string, want: string])[] = [
  ['two fields', 't,alice', 'line 1: expected token,user,uid and optional groups, found 2 fields'],
  ['groups without quotes', 't,a,1,g1,g2', 'line 1: found 5 fields: put several groups in quotes, "group1,group2"'],
  ['an empty token', '\n,alice,1', 'line 2: the token is empty'],
  ['an empty user', 't,,1', 'line 1: the user is empty'],
  ['an open quote', 't,a,1,"g1', 'line 1: a quote is not closed, or stands inside a field'],
  ['a duplicate token', 't,a,1\nt,b,2', 'line 2: this token is already on an earlier line'],
];
for (const [name, given, want] of errors) {
  test(`a token file rejects ${name}`, () =>
    assert.throws(() => parseTokenFile(given), { message: want, code: 'USAGE' }));
}
