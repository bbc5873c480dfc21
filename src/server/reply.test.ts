import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { warningHeaders } from './reply.ts';

suite('Warning headers', () => {
  const table: readonly [name: string, given: readonly string[], want: readonly string[]][] = [
    ['none', [], []],
    ['one', ['unknown field'], ['299 - "unknown field"']],
    ['distinct texts in order', ['b', 'a', 'b'], ['299 - "b"', '299 - "a"']],
    ['quotes and backslashes are escaped', ['a "b" \\c'], ['299 - "a \\"b\\" \\\\c"']],
    ['line breaks are replaced', ['a\r\nb: c'], ['299 - "a??b: c"']],
    ['other characters are replaced', ['€'], ['299 - "?"']],
  ];
  for (const [name, given, want] of table) test(name, () => assert.deepEqual(warningHeaders(given), want));

  test('beyond 4096 characters in total, each is truncated to 256, and texts beyond 4096 are left out', () => {
    const long = Array.from({ length: 30 }, (_, index) => `${index} ${'x'.repeat(300)}`);
    const headers = warningHeaders(long);
    assert.equal(headers.length, 16);
    for (const header of headers) assert.equal(header.length, 256 + '299 - ""'.length);
    assert.deepEqual(
      warningHeaders(long.slice(0, 2)).map(({ length }) => length),
      [310, 310],
    );
    const short = Array.from({ length: 1000 }, (_, index) => `${1000 + index}${'x'.repeat(96)}`);
    assert.equal(warningHeaders(short).length, 41); // as kube-apiserver, which stops once 4096 are written
  });
});
