// How many Pods a rolling update may take away or add: a number, or a percentage of all.
import type { FieldError } from '../../field-errors.ts';
import { invalidValue } from '../../field-errors.ts';

const badPercent =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

const percentOf = (amount: number | string): number | undefined =>
  typeof amount === 'string' && /^[0-9]+%$/.test(amount) ? Number.parseInt(amount, 10) : undefined;

/** The number of an amount, whether of Pods or per cent. */
export const amountOf = (amount: number | string): number =>
  typeof amount === 'number' ? amount : (percentOf(amount) ?? 0);

/** What is wrong with an amount; `isAtMostAll`: it cannot exceed all Pods. */
export function amountErrors(path: string, amount: number | string, isAtMostAll: boolean): readonly FieldError[] {
  if (typeof amount === 'number') {
    return amount < 0 ? [invalidValue(path, amount, 'must be greater than or equal to 0')] : [];
  }
  const percent = percentOf(amount);
  if (percent === undefined) return [invalidValue(path, amount, badPercent)];
  return isAtMostAll && percent > 100 ? [invalidValue(path, amount, 'must not be greater than 100%')] : [];
}
