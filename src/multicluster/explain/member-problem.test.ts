import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skewText, slowness } from './member-problem.ts';

test('slowness names a slow cluster and the time of its last probe', () => {
  const probe = { isSlow: true, latencyMs: 7240 };
  assert.equal(slowness({ id: 'west', probe }), 'cluster west answers slowly: the last probe took 7.2 s');
  assert.equal(slowness({ id: 'west', probe: { ...probe, isSlow: false } }), undefined);
});

test('skewText names the direction of the skew', () => {
  const skew = (clockSkewMs: number, isSkewed = true) => skewText({ id: 'west', probe: { isSkewed, clockSkewMs } });
  assert.match(skew(37_400) ?? '', /^the clock of cluster west is 37 s ahead:/);
  assert.match(skew(-37_400) ?? '', /^the clock of cluster west is 37 s behind:/);
  assert.equal(skew(900, false), undefined);
});
