import assert from 'node:assert/strict';
import { test } from 'node:test';

import { trimEnd } from './text.ts';

test('trimEnd removes trailing characters only', () => {
  assert.equal(trimEnd('-a.-b.-', '-.'), '-a.-b');
  assert.equal(trimEnd('***', '*'), '');
  assert.equal(trimEnd('', '*'), '');
  assert.equal(trimEnd('a', ''), 'a');
});
