import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Joined } from './joined.ts';

test('the same lines are joined once', () => {
  const joined = new Joined();
  const [a, b, c] = [Buffer.from('a'), Buffer.from('b'), Buffer.from('c')];
  const first = joined.join([a, b]);
  assert.equal(first.toString(), 'ab');
  assert.equal(joined.join([a, b]), first);
  for (const [lines, want] of [
    [[a, b, c], 'abc'],
    [[a, c], 'ac'],
    [[Buffer.from('x'), c], 'xc'],
    [[a, b], 'ab'],
    [[], ''],
  ] as const) {
    assert.equal(joined.join(lines).toString(), want);
  }
  assert.equal(joined.join([c]), c, 'one line needs no copy');
});
