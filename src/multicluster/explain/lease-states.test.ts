import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { renewed } from '../lease/lease.ts';
import { leaseStates } from './lease-states.ts';

const lease = (source: string, renewedAtSeconds: number): Lease =>
  renewed(undefined, { source, uid: source, holder: 'us', durationMs: 15_000, nowMs: renewedAtSeconds * 1000 });

const states = (nowSeconds: number, ...leases: readonly Lease[]): Record<string, string> =>
  Object.fromEntries(leaseStates(leases, nowSeconds * 1000));

describe('the states of leases from a single read', () => {
  const [east, west, north] = [lease('east', 100), lease('west', 89), lease('north', 80)];

  test('compares the age of a lease with the newest one', () => {
    const expected = { east: 'healthy', west: 'suspect', north: 'expired' };
    assert.deepEqual(states(101, east, west, north), expected);
  });

  test('does not depend on the clock', () => {
    for (const now of [60, 114]) assert.equal(states(now, east, lease('west', 95))['west'], 'healthy');
  });

  test('reports all leases as expired if none is renewed', () => {
    assert.deepEqual(states(116, east, lease('west', 95)), { east: 'expired', west: 'expired' });
  });

  test('there may be none', () => assert.deepEqual(states(1), {}));
});
