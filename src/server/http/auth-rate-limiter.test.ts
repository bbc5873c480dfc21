import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { AuthRateLimiter } from './auth-rate-limiter.ts';

suite('AuthRateLimiter', () => {
  let now = 0;
  const tries = (limiter: AuthRateLimiter, address: string): number => {
    let count = 0;
    while (count < 1000 && limiter.take(address)) count++;
    return count;
  };

  test('allows a burst of failures, and more of them over time', () => {
    const limiter = new AuthRateLimiter(() => now);
    assert.equal(tries(limiter, '192.0.2.1'), 200);
    now += 1000;
    assert.equal(tries(limiter, '192.0.2.1'), 20);
    now += 60_000;
    assert.equal(tries(limiter, '192.0.2.1'), 200);
  });

  test('counts each address separately', () => {
    const limiter = new AuthRateLimiter(() => now);
    tries(limiter, '192.0.2.1');
    assert.equal(tries(limiter, '192.0.2.2'), 200);
    assert.equal(tries(limiter, '::ffff:192.0.2.3'), 200);
  });

  test('counts an IPv6 /64 as one client', () => {
    const limiter = new AuthRateLimiter(() => now);
    tries(limiter, '2001:db8::1');
    assert.equal(tries(limiter, '2001:db8::2'), 0);
    assert.equal(tries(limiter, '2001:db8:0:1::1'), 200);
  });

  test('does not count successful authentications', () => {
    const limiter = new AuthRateLimiter(() => now);
    for (let time = 0; time < 1000; time++) {
      assert.ok(limiter.take('192.0.2.1'));
      limiter.refund('192.0.2.1');
    }
  });
});
