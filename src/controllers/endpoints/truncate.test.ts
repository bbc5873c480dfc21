import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { EndpointAddress, EndpointSubset } from '../../api/kinds/core/endpoints/schema.ts';
import { truncated } from './truncate.ts';

const addresses = (count: number): EndpointAddress[] => Array.from({ length: count }, () => ({ ip: '192.0.2.1' }));

/** Ready and not ready addresses of each subset. */
type Counts = readonly (readonly [number, number])[];

const cases: readonly { readonly name: string; readonly given: Counts; readonly want: Counts | undefined }[] = [
  { name: 'what fits stays', given: [[500, 500]], want: undefined },
  {
    name: 'ready addresses are cut in proportion',
    given: [
      [900, 0],
      [300, 50],
    ],
    want: [
      [750, 0],
      [250, 0],
    ],
  },
  {
    name: 'a share is rounded up, and the last subset gets what is left',
    given: [
      [1, 0],
      [1, 0],
      [999, 0],
    ],
    want: [
      [1, 0],
      [1, 0],
      [998, 0],
    ],
  },
  {
    name: 'addresses that are not ready share what the ready ones leave',
    given: [
      [300, 300],
      [500, 100],
    ],
    want: [
      [300, 150],
      [500, 50],
    ],
  },
  {
    name: 'a subset that keeps nothing is left out',
    given: [
      [1200, 0],
      [0, 10],
    ],
    want: [[1000, 0]],
  },
];

for (const { name, given, want } of cases) {
  test(`truncation: ${name}`, () => {
    const subsets: EndpointSubset[] = given.map(([ready, notReady]) => ({
      addresses: addresses(ready),
      notReadyAddresses: addresses(notReady),
    }));
    const counts = truncated(subsets)?.map((subset) => [
      subset.addresses?.length ?? 0,
      subset.notReadyAddresses?.length ?? 0,
    ]);
    assert.deepEqual(counts, want);
  });
}
