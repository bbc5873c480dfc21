import assert from 'node:assert/strict';
import { test } from 'node:test';

import { created } from '../../testing/validation.ts';
import { roleKind } from './kind.ts';

test('an empty list of rules is stored as null', () => {
  assert.equal(created(roleKind, { rules: [] }).rules, null);
});
