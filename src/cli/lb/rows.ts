import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Era, Product } from '../../loadbalancer/clouds/product.ts';
import type { Cloud } from '../../loadbalancer/clouds/cloud.ts';
import { clouds } from '../../loadbalancer/clouds/clouds.ts';
import type { Plan } from '../../loadbalancer/clouds/plan.ts';
import { productsOf, plan } from '../../loadbalancer/clouds/plan.ts';
import type { Bill } from '../../loadbalancer/clouds/price/bill.ts';
import type { PriceBook } from '../../loadbalancer/clouds/price/book.ts';
import { UsageError } from '../errors.ts';

/** A kind of load balancer to plan for. */
export interface Choice {
  readonly cloud: Cloud;
  readonly product: Product;
}

/** The kinds in a list such as `aws,gce/ccm`, or all kinds. */
export function choicesOf(names: readonly string[], era: Era): readonly Choice[] {
  const all = clouds.flatMap((cloud) => productsOf(cloud, era).map((product) => ({ cloud, product })));
  const chosen = names.flatMap((name) => {
    const found = all.filter(({ cloud, product }) => name === cloud.name || name === `${cloud.name}/${product.name}`);
    if (found.length > 0) return found;
    const known = clouds.map((cloud) => cloud.name).join(', ');
    throw new UsageError(
      `there is no provider "${name}" (${era}): choose from ${known}, or one of their kinds as aws/nlb`,
    );
  });
  return names.length === 0 ? all : chosen;
}

/** The plan of a cloud for a Service. */
export interface Row {
  readonly provider: string;
  readonly kind: string;
  /** The annotations and the class of the Service request this kind, or it is the default. */
  readonly isAskedFor: boolean;
  readonly askedBy: string;
  /** Every port is served. */
  readonly works: boolean;
  /** Some ports are served, which the Service accepts. */
  readonly worksInPart: boolean;
  /** The reason why not, or warnings. */
  readonly note: string;
  readonly ports: Plan['ports'];
  readonly resources: Plan['resources'];
  readonly bill: Bill;
  readonly mixingBill: Bill | undefined;
}

export interface RowOptions {
  readonly era: Era;
  readonly isMixingAllowed: boolean;
  /** Units of other Services. */
  readonly otherUnits: number;
  readonly prices: PriceBook;
}

/** The row of one Service at one kind of load balancer. */
export function rowFor(
  service: Service,
  { cloud, product }: Choice,
  { era, isMixingAllowed, otherUnits, prices }: RowOptions,
): Row {
  const account = { units: { public: otherUnits, internal: cloud.name === 'azure' ? otherUnits : 0 } };
  const made = plan(cloud, { service, era, product: product.name, isMixingAllowed, account, prices });
  const unverified = product.unverified === undefined ? [] : [`not confirmed: ${product.unverified}`];
  const problem = made.refusal ?? made.shortfall;
  const notes = [...made.warnings, ...unverified, ...(made.bill.note === undefined ? [] : [made.bill.note])];
  return {
    provider: cloud.name,
    kind: product.name,
    isAskedFor: cloud.choose(service, era) === product.name,
    askedBy: product.askedBy,
    works: problem === undefined,
    worksInPart: made.shortfall !== undefined,
    note: problem === undefined ? notes.join('; ') : withoutPorts(problem.message),
    ports: made.ports,
    resources: made.resources,
    bill: made.bill,
    mixingBill: made.mixingBill,
  };
}

/** The message without its list of ports, for which the table has a column. */
const withoutPorts = (message: string): string =>
  message.endsWith(')') ? (message.split(' (ports: ')[0] ?? '') : message;

/** The rows of a Service as columns; the heading is their first. */
export function printRows(rows: readonly Row[]): readonly (readonly string[])[] {
  const heading = ['PROVIDER', 'KIND', 'WORKS', 'RESOURCES', 'UNITS', 'USD/MONTH', 'BY MIXING', 'NOTE'];
  return [
    heading,
    ...rows.map((row) => [
      row.provider,
      row.isAskedFor ? `${row.kind}*` : row.kind,
      row.works ? 'yes' : row.worksInPart ? 'in part' : 'no',
      ...(isMade(row) ? costs(row) : ['-', '-', '-', '-']),
      row.note,
    ]),
  ];
}

/** Whether the cloud would create anything. */
export const isMade = ({ works, worksInPart }: Row): boolean => works || worksInPart;

const costs = ({ resources, bill, mixingBill }: Row): readonly string[] => [
  String(resources.length),
  unitsText(bill),
  dollars(bill.monthlyChange),
  mixingBill === undefined ? '-' : dollars(mixingBill.monthlyChange),
];

const unitsText = ({ unitsBefore, unitsAfter, threshold }: Bill): string =>
  `${unitsBefore}→${unitsAfter}${threshold === undefined ? '' : ` of ${threshold.included}`}`;

const dollars = (change: number | undefined): string =>
  change === undefined ? '?' : `${change < 0 ? '-' : '+'}${Math.abs(change).toFixed(2)}`;
