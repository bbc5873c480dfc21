import type { Bill, Choice, Era, Row } from '../../loadbalancer/inspect.ts';
import { allChoices, isCreated } from '../../loadbalancer/inspect.ts';
import { UsageError } from '../errors.ts';

/** The kinds in a list such as `aws,gce/ccm`, or all kinds. */
export function choicesOf(names: readonly string[], era: Era): readonly Choice[] {
  const all = allChoices(era);
  const chosen = names.flatMap((name) => {
    const found = all.filter(({ cloud, product }) => name === cloud.name || name === `${cloud.name}/${product.name}`);
    if (found.length > 0) return found;
    const known = [...new Set(all.map(({ cloud }) => cloud.name))].join(', ');
    throw new UsageError(
      `there is no provider "${name}" (${era}): choose from ${known}, or one of their kinds as aws/nlb`,
    );
  });
  return names.length === 0 ? all : chosen;
}

/** The rows of a Service as columns; the heading is their first. */
export function printRows(rows: readonly Row[]): readonly (readonly string[])[] {
  const heading = ['PROVIDER', 'KIND', 'WORKS', 'RESOURCES', 'UNITS', 'USD/MONTH', 'BY MIXING', 'NOTE'];
  return [
    heading,
    ...rows.map((row) => [
      row.provider,
      row.isRequested ? `${row.kind}*` : row.kind,
      row.works ? 'yes' : row.worksInPart ? 'in part' : 'no',
      ...(isCreated(row) ? costs(row) : ['-', '-', '-', '-']),
      row.note,
    ]),
  ];
}

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
