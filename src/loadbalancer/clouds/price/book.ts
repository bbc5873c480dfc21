// List prices of load balancers in US dollars for US regions, from the public pages of the vendors.
import type { Era } from '../product.ts';

/** The billing model of a product. */
export type PriceModel =
  /** Not billed. */
  | { readonly type: 'free' }
  /** A price per hour and instance, independent of units. */
  | { readonly type: 'flat'; readonly hourly: number }
  /** A base price includes the first units, further ones cost extra; units are counted over a shared scope. */
  | {
      readonly type: 'tiers';
      readonly base: number;
      readonly included: number;
      readonly extra: number;
      readonly scope: 'loadBalancer' | 'project';
    }
  /** A price per hour and instance plus a price for traffic. */
  | { readonly type: 'usage'; readonly hourly: number }
  /** Depends on the operator or contract. */
  | { readonly type: 'operator' };

/** The price of a product with its date. */
export interface Price {
  readonly model: PriceModel;
  /** The month in which the vendor published the numbers. */
  readonly asOf: string;
  /** Usage-based or unconfirmed parts, as text. */
  readonly note?: string;
}

/** `cloud/product` → price per era. */
export type PriceBook = Readonly<Record<string, Partial<Readonly<Record<Era, Price>>>>>;

const july = '2020-07';
const today = '2026-11';

/** Both clouds with tiers include five rules in the base price. */
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

/** The length of a month in vendor price lists. */
export const hoursPerMonth = 730;

const nlcu =
  'plus 0.006 per NLCU-hour; TCP and UDP have capacity units of their own (TCP 800 new flows/s and 100k active, UDP 400 and 50k)';

/** The default prices. */
export const priceBook: PriceBook = {
  'alibaba/clb': {
    '2020-07': {
      model: operator,
      asOf: july,
      note: 'by instance and traffic; listeners do not count, internal ones are free',
    },
    today: { model: usage(0.02), asOf: today, note: 'plus LCU and traffic; internal instances pay too' },
  },
  'alibaba/nlb': {
    today: { model: usage(0.02), asOf: today, note: 'plus LCU, counted for each protocol, the largest dimension' },
  },
  'aws/clb': {
    '2020-07': { model: usage(0.025), asOf: july, note: 'plus 0.008 per GB' },
    today: { model: usage(0.025), asOf: today, note: 'plus 0.008 per GB' },
  },
  'aws/nlb': {
    '2020-07': { model: usage(0.0225), asOf: july, note: nlcu },
    today: { model: usage(0.0225), asOf: today, note: nlcu },
  },
  'aws/nlb-lbc': { today: { model: usage(0.0225), asOf: today, note: nlcu } },
  'azure/basic': { '2020-07': { model: free, asOf: july } },
  'azure/standard': {
    '2020-07': { model: tiers('loadBalancer'), asOf: july, note: 'plus 0.005 per GB' },
    today: { model: tiers('loadBalancer'), asOf: today, note: 'plus 0.005 per GB; outbound rules count too' },
  },
  'digitalocean/regional': {
    '2020-07': { model: monthly(10), asOf: july },
    today: { model: monthly(12), asOf: today, note: 'for each node of the load balancer; not confirmed' },
  },
  'digitalocean/regional-network': { today: { model: monthly(15), asOf: today, note: 'not confirmed' } },
  'gce/netlb': {
    '2020-07': { model: tiers('project'), asOf: july, note: 'plus 0.008 per GiB; reserved addresses extra' },
  },
  'gce/ilb': { '2020-07': { model: tiers('project'), asOf: july, note: 'plus 0.008 per GiB' } },
  'gce/ccm': { today: { model: tiers('project'), asOf: today, note: 'plus 0.008 per GiB; reserved addresses extra' } },
  'gce/l4-split': {
    today: { model: tiers('project'), asOf: today, note: 'plus 0.008 per GiB; reserved addresses extra' },
  },
  'gce/l4-l3': {
    today: { model: tiers('project'), asOf: today, note: 'plus 0.008 per GiB; reserved addresses extra' },
  },
  'ibm-classic/nlb': { '2020-07': { model: free, asOf: july }, today: { model: free, asOf: today } },
  'ibm-vpc/alb': {
    '2020-07': { model: operator, asOf: july, note: 'hours and data' },
    today: { model: operator, asOf: today, note: 'hours and data' },
  },
  'ibm-vpc/nlb': { today: { model: operator, asOf: today, note: 'hours and data' } },
  'openstack/octavia-4': { '2020-07': { model: operator, asOf: july } },
  'openstack/octavia': { '2020-07': { model: operator, asOf: july }, today: { model: operator, asOf: today } },
  'openstack/ovn': { today: { model: operator, asOf: today } },
  'oracle/lb': {
    '2020-07': { model: operator, asOf: july, note: 'hours and capacity' },
    today: { model: operator, asOf: today, note: 'hours and provisioned Mbps; a small shape is free' },
  },
  'oracle/nlb': { today: { model: free, asOf: today } },
  'tencent/clb': {
    '2020-07': { model: operator, asOf: july, note: 'by the day; listeners do not count, internal ones are free' },
    today: {
      model: operator,
      asOf: today,
      note: 'instance, traffic and LCU; the LCU of listeners of different protocols add up',
    },
  },
};
