import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ClientLimiter } from './limiter.ts';

test('a client may burst, then keeps to its rate', () => {
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

test('1000 clients that ask little are hardly ever limited by one that floods', () => {
  const limiter = new ClientLimiter({ perSecond: 100 });
  let refused = 0;
  for (let now = 0; now < 1000; now++) {
    for (let turn = 0; turn < 100; turn++) limiter.allows(0xbad, now);
    if (!limiter.allows(now + 1, now)) refused++;
  }
  assert.ok(refused <= 2, `${refused} of 1000`);
});
