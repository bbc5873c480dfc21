// What every store promises, as tests. Revisions are compared with those before, since a store may not be new.

import { describe } from 'node:test';

import { commitContract } from './contract/commits.contract.ts';
import { limitsContract } from './contract/limits.contract.ts';
import { modelContract } from './contract/model.contract.ts';
import type { OpenStore } from './contract/open.ts';
import { rangeContract } from './contract/ranges.contract.ts';
import { watchContract } from './contract/watches.contract.ts';

/** Registers the tests that every store has to pass. */
export function storeContract(name: string, open: OpenStore): void {
  describe(`${name} store`, () => {
    commitContract(open);
    rangeContract(open);
    watchContract(open);
    limitsContract(open);
    modelContract(open);
  });
}
