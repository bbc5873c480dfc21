import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';

import { descriptorLimit, descriptorShare, descriptorsNeeded } from './descriptors.ts';

test('reads the limit of this process', { skip: !existsSync('/proc/self/limits') && 'there is no /proc' }, () => {
  assert.ok((descriptorLimit() ?? 0) > 64);
});

test('the shares of all parts and clusters leave the reserve', () => {
  for (const clusters of [1, 2, 10, 100]) {
    for (const limit of [descriptorsNeeded(clusters), 20_000, 1_048_576]) {
      const parts = (['server', 'dns', 'proxy'] as const).map((part) => descriptorShare(part, clusters, limit));
      const taken = clusters * parts.reduce((sum, share) => sum + share, 0);
      assert.ok(taken + 96 + 40 * clusters <= limit, `${clusters} clusters at ${limit} take ${taken}`);
      for (const share of parts) assert.ok(share >= 20, `${clusters} clusters at ${limit} leave ${share} to a part`);
    }
  }
});
