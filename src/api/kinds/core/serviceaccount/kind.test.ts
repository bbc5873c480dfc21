import assert from 'node:assert/strict';
import { test } from 'node:test';

import { created } from '../../testing/validation.ts';
import { serviceAccountKind } from './kind.ts';

test('stores only the names of Secrets', () => {
  const secrets = [{ name: 'a', namespace: 'b', kind: 'Secret' }, { kind: 'Secret' }];
  assert.deepEqual(created(serviceAccountKind, { secrets }).secrets, [{ name: 'a' }, {}]);
});
