import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { ClientLimiter } from './limiter.ts';

test('allows a burst, then the rate', () => {
  const limiter = new ClientLimiter({ perSecond: 100, burst: 20 });
  const allowed = (fromMs: number, toMs: number): number => {
    let count = 0;
    for (let now = fromMs; now < toMs; now++) if (limiter.allows(1, now)) count++;
    return count;
  };
  assert.equal(allowed(1000, 1010), 10);
  const second = allowed(1010, 2010);
  assert.ok(second >= 108 && second <= 112, String(second));
  assert.equal(allowed(3000, 3010), 10);
});

test('allows a whole burst at one moment for any clock value', () => {
  const clock = fc.double({ min: 0, max: 1e10, noNaN: true });
  fc.assert(
    fc.property(
      clock,
      fc.double({ min: 0.01, max: 1000, noNaN: true }),
      fc.integer({ min: 1, max: 50 }),
      (now, perSecond, burst) => {
        const limiter = new ClientLimiter({ perSecond, burst });
        const answers = Array.from({ length: burst + 5 }, () => limiter.allows(1, now));
        assert.equal(answers.filter(Boolean).length, burst);
      },
    ),
  );
});

test('a flood by one client rarely limits 1000 others', () => {
  const limiter = new ClientLimiter({ perSecond: 100 });
  let refused = 0;
  for (let now = 0; now < 1000; now++) {
    for (let turn = 0; turn < 100; turn++) limiter.allows(0xbad, now);
    if (!limiter.allows(now + 1, now)) refused++;
  }
  assert.ok(refused <= 2, `${refused} of 1000`);
});
