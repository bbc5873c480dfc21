import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overlapProblem } from './overlap.ts';
import { endpointRangesOf } from './policy.ts';

const member = (id: string, ranges: readonly string[], exportsPods = true) => ({
  id,
  endpointRanges: endpointRangesOf(ranges),
  exportsPods,
});

for (const { name, others, own = ['10.1.0.0/16'], exportsPods = true, want } of [
  { name: 'distinct ranges', others: [member('west', ['10.2.0.0/16'])], want: undefined },
  {
    name: 'equal ranges',
    others: [member('west', ['10.1.0.0/16'])],
    want: /10\.1\.0\.0\/16 overlap 10\.1\.0\.0\/16 of cluster west/,
  },
  {
    name: 'a range inside of another',
    others: [member('west', ['10.0.0.0/8'])],
    want: /overlap 10\.0\.0\.0\/8 of cluster west/,
  },
  {
    name: 'a range around another',
    others: [member('west', ['10.1.2.0/24'])],
    want: /overlap 10\.1\.2\.0\/24 of cluster west/,
  },
  { name: 'ranges of another family', others: [member('west', ['fd00::/8'])], want: undefined },
  {
    name: 'ranges that accept everything',
    others: [member('west', ['0.0.0.0/0'])],
    own: ['0.0.0.0/0'],
    want: undefined,
  },
  {
    name: 'another cluster that does not export Pods',
    others: [member('west', ['10.1.0.0/16'], false)],
    want: undefined,
  },
  {
    name: 'a cluster that does not export Pods',
    others: [member('west', ['10.1.0.0/16'])],
    exportsPods: false,
    want: undefined,
  },
]) {
  test(`${name} ${want === undefined ? 'are no problem' : 'are reported'}`, () => {
    const east = member('east', own, exportsPods);
    const problem = overlapProblem(east, [east, ...others]);
    if (want === undefined) assert.equal(problem, undefined);
    else assert.match(problem ?? '', want);
  });
}
