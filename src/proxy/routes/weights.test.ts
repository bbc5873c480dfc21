import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Candidate } from './candidates.ts';
import { weightsOf } from './weights.ts';

const of = (backend: string, weight: string | undefined, count: number): readonly Candidate[] =>
  Array.from({ length: count }, (_, index) => ({
    address: `192.0.2.${index}`,
    port: 80,
    nodeName: undefined,
    ready: true,
    serving: true,
    terminating: false,
    cluster: undefined,
    endpoint: { addresses: [], conditions: {} },
    slice: {
      metadata:
        weight === undefined
          ? {}
          : { annotations: { 'gateway.fairlead.dev/backend': backend, 'gateway.fairlead.dev/weight': weight } },
      addressType: 'IPv4',
      endpoints: [],
      ports: [],
    },
  }));

const rows: readonly {
  readonly name: string;
  readonly given: readonly Candidate[];
  readonly want: readonly number[] | undefined;
}[] = [
  { name: 'endpoints without weights are equal', given: of('', undefined, 3), want: undefined },
  { name: 'one endpoint per backend has its weight', given: [...of('a', '70', 1), ...of('b', '30', 1)], want: [7, 3] },
  {
    name: 'endpoints of a backend share its weight',
    given: [...of('a', '1', 1), ...of('b', '1', 2)],
    want: [2, 1, 1],
  },
  { name: 'an invalid weight is 1', given: [...of('a', 'x', 1), ...of('b', '2', 1)], want: [1, 2] },
  {
    name: 'weights are exact up to a sum of 1024',
    given: [...of('a', '1000', 1), ...of('b', '1', 1)],
    want: [1000, 1],
  },
  { name: 'no endpoint is left out', given: [...of('a', '1000000', 1), ...of('b', '1', 1)], want: [1024, 1] },
];
for (const { name, given, want } of rows) {
  test(name, () => assert.deepEqual(weightsOf(given), want));
}
