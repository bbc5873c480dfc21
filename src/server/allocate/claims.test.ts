import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import type { Entry } from '../../store/store.ts';
import { Claims } from './claims.ts';

const prefix = '/claims/';
const entryOf = (name: string): Entry => ({ key: prefix + name, value: '{}', revision: 1, created: 1 });

const actions = ['reserve', 'drop', 'put', 'delete', 'replace'] as const;

test('the pool marks reserved and stored names as allocated, in any order of events', () => {
  const step = fc.tuple(fc.constantFrom(...actions), fc.constantFrom('a', 'b', 'c'));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
      const taken = new Set<string>();
      const claims = new Claims(prefix, {
        claim: (name) => void taken.add(name),
        release: (name) => void taken.delete(name),
      });
      const stored = new Set<string>();
      const reserved = new Set<string>();
      for (const [action, name] of steps) {
        const key = prefix + name;
        if (action === 'reserve' && !taken.has(name)) {
          taken.add(name); // the pool has just allocated it
          claims.reserve(key);
          reserved.add(name);
        } else if (action === 'drop' && reserved.delete(name)) {
          claims.drop(key);
        } else if (action === 'put') {
          claims.apply([{ key, revision: 1, entry: entryOf(name), previous: undefined }]);
          stored.add(name);
        } else if (action === 'delete') {
          claims.apply([{ key, revision: 1, entry: undefined, previous: undefined }]);
          stored.delete(name);
        } else if (action === 'replace') {
          claims.replace([entryOf(name)]);
          stored.clear();
          stored.add(name);
        }
        assert.deepEqual(taken, stored.union(reserved));
        assert.equal(claims.held(key) !== undefined, stored.has(name));
      }
    }),
  );
});
