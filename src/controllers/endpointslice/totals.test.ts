import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceTotals } from './totals.ts';
import { SliceTotals, contributionOf } from './totals.ts';

const slice = (name: string, size: number, port = 80): EndpointSlice => ({
  metadata: { name },
  addressType: 'IPv4',
  ports: [{ port, protocol: 'TCP' }],
  endpoints: Array.from({ length: size }, (_, index) => ({ addresses: [`10.0.0.${index}`], conditions: {} })),
});

const none = { create: [], update: [], remove: [] };
const of = (slices: number, desiredSlices: number, endpoints: number): Partial<ServiceTotals> => ({
  slices,
  desiredSlices,
  endpoints,
});
const cases = [
  { name: 'nothing', before: [], writes: none, want: of(0, 0, 0) },
  { name: 'a placeholder', before: [], writes: { ...none, create: [slice('', 0)] }, want: of(1, 1, 0) },
  { name: 'slices that fit into one', before: [slice('a', 4), slice('b', 5)], writes: none, want: of(2, 1, 9) },
  {
    name: 'different ports need separate slices',
    before: [slice('a', 4), slice('b', 5, 81)],
    writes: none,
    want: of(2, 2, 9),
  },
  {
    name: 'counts the slices after the writes',
    before: [slice('a', 4), slice('b', 5), slice('c', 6)],
    writes: { create: [slice('', 10)], update: [slice('a', 9)], remove: [slice('b', 5)] },
    want: of(3, 3, 25),
  },
];

for (const { name, before, writes, want } of cases) {
  test(`contribution of a Service: ${name}`, () => {
    const { distribution: _, ...rest } = contributionOf(before, writes, { max: 10, distribution: undefined });
    assert.deepEqual(rest, want);
  });
}

test('totals change with every Service and drop deleted ones', () => {
  const totals = new SliceTotals();
  const one = (distribution?: string): ServiceTotals => ({ slices: 2, desiredSlices: 1, endpoints: 3, distribution });
  totals.set('a', one('PreferSameZone'));
  totals.set('b', one('example.org/nearest'));
  totals.set('b', one('PreferSameZone'));
  totals.set('c', one());
  assert.deepEqual([totals.slices, totals.desiredSlices, totals.endpoints], [6, 3, 9]);
  assert.deepEqual(
    [...totals.distributions],
    [
      ['PreferSameZone', 2],
      ['ImplementationSpecific', 0],
    ],
  );
  totals.delete('a');
  totals.clear();
  assert.deepEqual([totals.slices, totals.desiredSlices, totals.endpoints], [0, 0, 0]);
});
