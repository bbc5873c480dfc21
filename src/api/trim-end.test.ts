import assert from 'node:assert/strict';
import { test } from 'node:test';

import { trimEnd } from './trim-end.ts';

test('only the end is trimmed', () => {
  assert.equal(trimEnd('-a.-b.-', '-.'), '-a.-b');
  assert.equal(trimEnd('***', '*'), '');
  assert.equal(trimEnd('', '*'), '');
  assert.equal(trimEnd('a', ''), 'a');
});
