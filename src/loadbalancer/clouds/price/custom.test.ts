import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cloudNamed } from '../clouds.ts';
import { plan } from '../plan.ts';
import { serviceWith } from '../../testing/service.ts';
import { priceBook } from './book.ts';
import { withCustomPrices } from './custom.ts';

test('LB-21 a plan uses the price of the operator with its date', () => {
  const prices = withCustomPrices(priceBook, {
    'openstack/octavia': { type: 'flat', hourly: 0.01, asOf: '2026-10', note: 'contract 7' },
    'gce/ccm': { type: 'tiers', base: 0.03, included: 1, extra: 0.02, asOf: '2026-11' },
  });
  const bill = (name: string, era: '2020-07' | 'today' = 'today') => {
    const cloud = cloudNamed(name);
    assert.ok(cloud);
    return plan(cloud, { service: serviceWith('80/TCP'), era, isMixingAllowed: true, prices }).bill;
  };
  assert.partialDeepStrictEqual(bill('openstack'), { monthlyChange: 7.3, asOf: '2026-10', note: 'contract 7' });
  assert.partialDeepStrictEqual(bill('gce'), {
    hourlyChange: 0.03,
    threshold: { included: 1, left: 0, scope: 'the project' },
  });
  assert.equal(bill('openstack', '2020-07').monthlyChange, undefined, 'prices of July 2020 are what they were');
  assert.equal(bill('azure').monthlyChange, 18.25, 'what is not named is as in the book');
});

const wrong: readonly (readonly [unknown, RegExp])[] = [
  [[], /^expected a mapping such as aws\/nlb/],
  [{ 'acme/lb': {} }, /^there is no "acme\/lb": expected one of alibaba\/clb, /],
  [{ 'gce/netlb': {} }, /^there is no "gce\/netlb"/],
  [{ 'aws/nlb': 0.02 }, /^aws\/nlb: expected a mapping with type, asOf and numbers$/],
  [
    { 'aws/nlb': { type: 'cheap', asOf: '2026-11' } },
    /^aws\/nlb: expected a type of free, operator, flat, usage, tiers$/,
  ],
  [{ 'aws/nlb': { type: 'flat', hourly: 1 } }, /^aws\/nlb: expected asOf, the date of the price/],
  [{ 'aws/nlb': { type: 'flat', asOf: '2026-11' } }, /^aws\/nlb: expected hourly, a number of 0 or more$/],
  [{ 'aws/nlb': { type: 'flat', hourly: -1, asOf: '2026-11' } }, /^aws\/nlb: expected hourly, a number/],
  [{ 'aws/nlb': { type: 'free', hourly: 1, asOf: '2026-11' } }, /^aws\/nlb: a price of type free has no "hourly"$/],
];
for (const [own, message] of wrong) {
  test(`rejects the prices ${JSON.stringify(own)}`, () => {
    assert.throws(() => withCustomPrices(priceBook, own), { message });
  });
}
