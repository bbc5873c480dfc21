// What load balancers cost: list prices in US dollars of US regions, from the vendors' public pages.
import type { Era } from '../product.ts';

/** How a bill follows from what exists. */
export type PriceModel =
  /** Nothing is billed for it. */
  | { readonly type: 'free' }
  /** So much an hour for an instance, however many units it has. */
  | { readonly type: 'flat'; readonly hourly: number }
  /** The first units cost the base together, each further one extra; counted over a scope that Services share. */
  | {
      readonly type: 'tiers';
      readonly base: number;
      readonly included: number;
      readonly extra: number;
      readonly scope: 'loadBalancer' | 'project';
    }
  /** So much an hour for an instance, and more for what goes through it. */
  | { readonly type: 'usage'; readonly hourly: number }
  /** Only the operator or the contract knows. */
  | { readonly type: 'operator' };

/** What one product costs, and when that was looked up. */
export interface Price {
  readonly model: PriceModel;
  /** The month in which the numbers were the vendor's. */
  readonly asOf: string;
  /** What depends on use, or is not certain, for a person. */
  readonly note?: string;
}

/** `cloud/kind` → its price in each era in which it exists. */
export type PriceBook = Readonly<Record<string, Partial<Readonly<Record<Era, Price>>>>>;

const seed = '2020-07';
const today = '2026-11';

/** Every tier of both clouds that have tiers: five rules in the base price. */
const tiers = (scope: 'loadBalancer' | 'project'): PriceModel => ({
  type: 'tiers',
  base: 0.025,
  included: 5,
  extra: 0.01,
  scope,
});
const free: PriceModel = { type: 'free' };
const operator: PriceModel = { type: 'operator' };
const usage = (hourly: number): PriceModel => ({ type: 'usage', hourly });
const monthly = (dollars: number): PriceModel => ({ type: 'flat', hourly: dollars / hoursPerMonth });

/** A month, as vendors count it. */
export const hoursPerMonth = 730;

const nlcu =
  'plus 0.006 per NLCU-hour; TCP and UDP have capacity units of their own (TCP 800 new flows/s and 100k active, UDP 400 and 50k)';

/** The prices that plans use unless given others. */
export const priceBook: PriceBook = {
  'alibaba/clb': {
    seed: {
      model: operator,
      asOf: seed,
      note: 'by instance and traffic; listeners do not count, internal ones are free',
    },
    today: { model: usage(0.02), asOf: today, note: 'plus LCU and traffic; internal instances pay too' },
  },
  'alibaba/nlb': {
    today: { model: usage(0.02), asOf: today, note: 'plus LCU, counted for each protocol, the largest dimension' },
  },
  'aws/clb': {
    seed: { model: usage(0.025), asOf: seed, note: 'plus 0.008 per GB' },
    today: { model: usage(0.025), asOf: today, note: 'plus 0.008 per GB' },
  },
  'aws/nlb': {
    seed: { model: usage(0.0225), asOf: seed, note: nlcu },
    today: { model: usage(0.0225), asOf: today, note: nlcu },
  },
  'aws/nlb-lbc': { today: { model: usage(0.0225), asOf: today, note: nlcu } },
  'azure/basic': { seed: { model: free, asOf: seed } },
  'azure/standard': {
    seed: { model: tiers('loadBalancer'), asOf: seed, note: 'plus 0.005 per GB' },
    today: { model: tiers('loadBalancer'), asOf: today, note: 'plus 0.005 per GB; outbound rules count too' },
  },
  'digitalocean/regional': {
    seed: { model: monthly(10), asOf: seed },
    today: { model: monthly(12), asOf: today, note: 'for each node of the load balancer; not confirmed' },
  },
  'digitalocean/regional-network': { today: { model: monthly(15), asOf: today, note: 'not confirmed' } },
  'gce/netlb': { seed: { model: tiers('project'), asOf: seed, note: 'plus 0.008 per GiB; reserved addresses extra' } },
  'gce/ilb': { seed: { model: tiers('project'), asOf: seed, note: 'plus 0.008 per GiB' } },
  'gce/ccm': { today: { model: tiers('project'), asOf: today, note: 'plus 0.008 per GiB; reserved addresses extra' } },
  'gce/l4-split': {
    today: { model: tiers('project'), asOf: today, note: 'plus 0.008 per GiB; reserved addresses extra' },
  },
  'gce/l4-l3': {
    today: { model: tiers('project'), asOf: today, note: 'plus 0.008 per GiB; reserved addresses extra' },
  },
  'ibm-classic/nlb': { seed: { model: free, asOf: seed }, today: { model: free, asOf: today } },
  'ibm-vpc/alb': {
    seed: { model: operator, asOf: seed, note: 'hours and data' },
    today: { model: operator, asOf: today, note: 'hours and data' },
  },
  'ibm-vpc/nlb': { today: { model: operator, asOf: today, note: 'hours and data' } },
  'openstack/octavia-4': { seed: { model: operator, asOf: seed } },
  'openstack/octavia': { seed: { model: operator, asOf: seed }, today: { model: operator, asOf: today } },
  'openstack/ovn': { today: { model: operator, asOf: today } },
  'oracle/lb': {
    seed: { model: operator, asOf: seed, note: 'hours and capacity' },
    today: { model: operator, asOf: today, note: 'hours and provisioned Mbps; a small shape is free' },
  },
  'oracle/nlb': { today: { model: free, asOf: today } },
  'tencent/clb': {
    seed: { model: operator, asOf: seed, note: 'by the day; listeners do not count, internal ones are free' },
    today: {
      model: operator,
      asOf: today,
      note: 'instance, traffic and LCU; the LCU of listeners of different protocols add up',
    },
  },
};
