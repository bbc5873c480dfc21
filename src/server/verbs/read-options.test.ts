import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { ReadOptions } from './read-options.ts';
import { encodeToken } from './continue-token.ts';
import { parseListOptions, parseRevision, parseWatchOptions } from './read-options.ts';

const none: ReadOptions = {
  revision: undefined,
  match: undefined,
  limit: 0,
  continue: '',
  timeoutSeconds: undefined,
  bookmarks: false,
  sendInitialEvents: undefined,
};

suite('valid options', () => {
  const table: readonly [query: string, want: Partial<ReadOptions>][] = [
    ['', {}],
    ['unknown=1', {}],
    ['resourceVersion=', {}],
    ['resourceVersion=0', { revision: 0 }],
    ['resourceVersion=12&resourceVersionMatch=Exact', { revision: 12, match: 'Exact' }],
    ['resourceVersion=0&resourceVersionMatch=NotOlderThan', { revision: 0, match: 'NotOlderThan' }],
    ['limit=5', { limit: 5 }],
    ['limit=', {}],
    ['limit=-1', { limit: -1 }],
    ['continue=abc', { continue: 'abc' }],
    ['continue=abc&resourceVersion=0', { continue: 'abc', revision: 0 }],
    ['timeoutSeconds=30', { timeoutSeconds: 30 }],
    ['allowWatchBookmarks=true', { bookmarks: true }],
    ['allowWatchBookmarks=false', {}],
  ];
  for (const [query, want] of table) {
    test(`?${query}`, () => assert.deepEqual(parseListOptions(new URLSearchParams(query)), { ...none, ...want }));
  }

  test('?sendInitialEvents=true of a watch', () => {
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=7';
    assert.deepEqual(parseWatchOptions(new URLSearchParams(query)), {
      ...none,
      revision: 7,
      match: 'NotOlderThan',
      sendInitialEvents: true,
    });
  });
});

const options = 'ListOptions.meta.k8s.io "" is invalid: ';
const match = 'resourceVersionMatch: Forbidden: ';

suite('rejected options of a list', () => {
  const table: readonly [query: string, code: number, message: string][] = [
    [
      'resourceVersionMatch=Exact',
      422,
      `${options}${match}resourceVersionMatch is forbidden unless resourceVersion is provided`,
    ],
    [
      'resourceVersion=0&resourceVersionMatch=Exact',
      422,
      `${options}${match}resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
    ],
    [
      'resourceVersion=5&resourceVersionMatch=Exact&continue=a',
      422,
      `${options}${match}resourceVersionMatch is forbidden when continue is provided`,
    ],
    [
      'resourceVersion=5&resourceVersionMatch=Newest',
      422,
      `${options}resourceVersionMatch: Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""`,
    ],
    ['sendInitialEvents=true', 422, `${options}sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list`],
    [
      'continue=a&resourceVersion=5',
      400,
      'invalid continue token: continue key is not valid: illegal base64 data at input byte 0',
    ],
    [
      `continue=${encodeToken({ revision: 1, start: 'a' })}&resourceVersion=5`,
      400,
      'specifying resource version is not allowed when using continue',
    ],
    ['limit=x', 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
    ['limit=1.5', 400, 'strconv.ParseInt: parsing "1.5": invalid syntax'],
    ['timeoutSeconds=1m', 400, 'strconv.ParseInt: parsing "1m": invalid syntax'],
  ];
  for (const [query, code, message] of table) {
    test(`?${query}`, () => refused(() => parseListOptions(new URLSearchParams(query)), code, message));
  }
});

suite('rejected options of a watch', () => {
  const required = `${match}sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`;
  const table: readonly [query: string, message: string][] = [
    [
      'resourceVersionMatch=NotOlderThan',
      `${options}${match}resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided`,
    ],
    ['continue=x', `${options}${match}resourceVersionMatch is forbidden when continue is provided`],
    [
      'resourceVersionMatch=Exact',
      `${options}[${match}resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]`,
    ],
    ['sendInitialEvents=true', `${options}${required}`],
    [
      'sendInitialEvents=false&resourceVersion=1&resourceVersionMatch=Exact',
      `${options}[${required}, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]`,
    ],
  ];
  for (const [query, message] of table) {
    test(`?${query}`, () => refused(() => parseWatchOptions(new URLSearchParams(query)), 422, message));
  }
});

suite('revisions', () => {
  test('are decimal numbers', () => {
    assert.equal(parseRevision(''), undefined);
    assert.equal(parseRevision('0'), 0);
    assert.equal(parseRevision('812'), 812);
  });
  for (const text of ['x', '-1', '1.0', '0x1', ' 1', '12345678901234567']) {
    test(`are not "${text}"`, () =>
      refused(
        () => parseRevision(text),
        400,
        `invalid resource version: resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
      ));
  }
});

function refused(act: () => unknown, code: number, message: string): void {
  assert.throws(act, (error: Error & { status?: { code: number } }) => {
    assert.equal(error.status?.code, code);
    assert.equal(error.message, message);
    return true;
  });
}
