import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clouds } from '../clouds.ts';
import { plan } from '../plan.ts';
import type { Era } from '../product.ts';
import { serviceWith } from '../../testing/service.ts';
import { billFor, hourlyPrice } from './bill.ts';
import type { PriceModel } from './book.ts';
import { priceBook } from './book.ts';

const tiers: PriceModel = { type: 'tiers', base: 0.025, included: 5, extra: 0.01, scope: 'project' };

test('LB-21 the base price includes five rules, further ones cost extra', () => {
  const prices = [0, 1, 4, 5, 6, 7].map((units) => hourlyPrice(tiers, units));
  assert.deepEqual(
    prices.map((price) => price?.toFixed(3)),
    ['0.000', '0.025', '0.025', '0.025', '0.035', '0.045'],
  );
});

/** The cost of UDP in addition to TCP on port 53, given the units of other Services. */
function dns(
  name: string,
  product: string,
  others: number,
  era: Era = 'today',
  annotations: Record<string, string> = {},
) {
  const cloud = clouds.find((each) => each.name === name);
  assert.ok(cloud);
  const service = serviceWith('53/TCP 53/UDP', { annotations });
  const account = { units: { public: others, internal: 0 }, addresses: [] };
  const { refusal, mixingBill } = plan(cloud, { service, era, product, isMixingAllowed: true, account });
  assert.equal(refusal, undefined);
  return mixingBill;
}

const aws = { 'service.beta.kubernetes.io/aws-load-balancer-enable-tcp-udp-listener': 'true' };
const cases: readonly (readonly [
  cloud: string,
  product: string,
  others: number,
  units: string,
  monthly: number | undefined,
  annotations?: Record<string, string>,
])[] = [
  ['gce', 'l4-split', 3, '4 → 5', 0],
  ['gce', 'l4-split', 4, '5 → 6', 7.3],
  ['gce', 'l4-split', 0, '1 → 2', 0],
  ['gce', 'l4-l3', 4, '5 → 5', 0],
  ['azure', 'standard', 5, '6 → 7', 7.3],
  ['azure', 'standard', 3, '4 → 5', 0],
  ['aws', 'nlb-lbc', 9, '1 → 1', 0, aws],
  ['oracle', 'nlb', 0, '1 → 1', 0],
  ['digitalocean', 'regional', 0, '1 → 2', 0],
  ['alibaba', 'clb', 0, '1 → 2', 0],
  ['ibm-classic', 'nlb', 0, '1 → 2', 0],
  ['openstack', 'octavia', 0, '1 → 2', undefined],
  ['tencent', 'clb', 0, '1 → 2', undefined],
];
for (const [cloud, product, others, units, monthly, annotations] of cases) {
  test(`LB-21 ${cloud} ${product}, others have ${others}: ${units}, ${monthly ?? 'unknown'} a month`, () => {
    const bill = dns(cloud, product, others, 'today', annotations);
    assert.equal(`${bill?.unitsBefore} → ${bill?.unitsAfter}`, units);
    assert.equal(bill?.monthlyChange, monthly);
  });
}

test('LB-21 reports the remaining units of the base price and their scope', () => {
  assert.deepEqual(dns('gce', 'l4-split', 1)?.threshold, { included: 5, left: 2, scope: 'the project' });
  assert.deepEqual(dns('azure', 'standard', 5)?.threshold, {
    included: 5,
    left: 0,
    scope: 'the load balancer of the cluster',
  });
});

test('LB-21 a deleted load balancer reduces the cost', () => {
  const { monthlyChange } = billFor({ model: tiers, asOf: '2026-10' }, 'rule', { others: 5, before: 2, after: 0 });
  assert.equal(monthlyChange, -14.6);
});

test('every product has a price with a date, and every price has a product', () => {
  const desired = clouds.flatMap((cloud) => cloud.products.map(({ name, era }) => `${cloud.name}/${name} ${era}`));
  const known = Object.entries(priceBook).flatMap(([name, byEra]) => Object.keys(byEra).map((era) => `${name} ${era}`));
  assert.deepEqual(known.toSorted(), desired.toSorted());
  for (const byEra of Object.values(priceBook))
    for (const price of Object.values(byEra)) assert.match(price.asOf, /^\d{4}-\d\d$/);
});
