import assert from 'node:assert/strict';
import { test } from 'node:test';

import { sourceRanges } from './source-ranges.ts';

const cases: readonly {
  readonly name: string;
  readonly ranges: readonly string[] | undefined;
  readonly want: readonly string[] | undefined;
}[] = [
  { name: 'no list is no restriction', ranges: undefined, want: undefined },
  { name: 'an empty list is no restriction', ranges: [], want: undefined },
  { name: 'ranges are canonical and trimmed', ranges: [' 10.0.0.9/8 '], want: ['10.0.0.0/8'] },
  {
    name: 'a range inside another is left out',
    ranges: ['10.1.0.0/16', '10.0.0.0/8', '10.0.0.0/8'],
    want: ['10.0.0.0/8'],
  },
  { name: 'a range of all addresses is no restriction', ranges: ['10.0.0.0/8', '0.0.0.0/0'], want: undefined },
  { name: 'ranges of the other family alone leave this one open', ranges: ['2001:db8::/32'], want: undefined },
  {
    name: 'a range of the other family does not apply',
    ranges: ['::/0', '10.0.0.0/8'],
    want: ['10.0.0.0/8'],
  },
  { name: 'invalid ranges allow nothing', ranges: ['10.0.0.0'], want: [] },
];

for (const { name, ranges, want } of cases) {
  test(name, () => assert.deepEqual(sourceRanges(ranges, 'IPv4'), want));
}
