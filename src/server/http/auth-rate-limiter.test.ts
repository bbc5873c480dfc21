import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { AuthRateLimiter } from './auth-rate-limiter.ts';

suite('wrong credentials', () => {
  let now = 0;
  const tries = (attempts: AuthRateLimiter, address: string): number => {
    let count = 0;
    while (count < 1000 && attempts.take(address)) count++;
    return count;
  };

  test('are looked at so often at once, and then so often a second', () => {
    const attempts = new AuthRateLimiter(() => now);
    assert.equal(tries(attempts, '192.0.2.1'), 200);
    now += 1000;
    assert.equal(tries(attempts, '192.0.2.1'), 20);
    now += 60_000;
    assert.equal(tries(attempts, '192.0.2.1'), 200);
  });

  test('of one address take nothing from another', () => {
    const attempts = new AuthRateLimiter(() => now);
    tries(attempts, '192.0.2.1');
    assert.equal(tries(attempts, '192.0.2.2'), 200);
    assert.equal(tries(attempts, '::ffff:192.0.2.3'), 200);
  });

  test('of a network of IPv6 are those of one client', () => {
    const attempts = new AuthRateLimiter(() => now);
    tries(attempts, '2001:db8::1');
    assert.equal(tries(attempts, '2001:db8::2'), 0);
    assert.equal(tries(attempts, '2001:db8:0:1::1'), 200);
  });

  test('do not count when they turn out to be right', () => {
    const attempts = new AuthRateLimiter(() => now);
    for (let time = 0; time < 1000; time++) {
      assert.ok(attempts.take('192.0.2.1'));
      attempts.refund('192.0.2.1');
    }
  });
});
