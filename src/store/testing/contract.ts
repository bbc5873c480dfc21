// The contract of a store as tests. Revisions are compared with earlier ones, since a store may not be new.

import { describe } from 'node:test';

import { commitContract } from './commits.ts';
import { limitsContract } from './limits.ts';
import { modelContract } from './model.ts';
import type { OpenStore } from './open.ts';
import { rangeContract } from './ranges.ts';
import { watchContract } from './watches.ts';

/** Registers the tests that every store must pass. */
export function storeContract(name: string, open: OpenStore): void {
  describe(`${name} store`, () => {
    commitContract(open);
    rangeContract(open);
    watchContract(open);
    limitsContract(open);
    modelContract(open);
  });
}
