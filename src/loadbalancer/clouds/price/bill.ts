import type { Price, PriceModel } from './book.ts';
import { hoursPerMonth } from './book.ts';

/** Billed units in the scope of a price. */
export interface UnitCounts {
  /** Units of other Services in the same scope. */
  readonly others: number;
  readonly before: number;
  readonly after: number;
}

/** The cost of a change. */
export interface Bill {
  /** The name of the counted unit, such as `listener`. */
  readonly unit: string;
  /** Units in the scope of the price, including those of other Services if it is shared. */
  readonly unitsBefore: number;
  readonly unitsAfter: number;
  /** US dollars; undefined if the price depends on the operator. */
  readonly hourlyChange: number | undefined;
  readonly monthlyChange: number | undefined;
  /** For tiers: the units in the base price, and how many of them remain unused. */
  readonly threshold?: { readonly included: number; readonly left: number; readonly scope: string };
  readonly asOf: string;
  readonly note?: string;
}

/** The hourly price of a number of units; undefined if it depends on the operator. */
export function hourlyPrice(model: PriceModel, units: number): number | undefined {
  if (model.type === 'operator') return undefined;
  if (units === 0 || model.type === 'free') return 0;
  if (model.type !== 'tiers') return model.hourly;
  return model.base + model.extra * Math.max(0, units - model.included);
}

/** The change of cost when the units of one load balancer change. */
export function billFor(price: Price, unit: string, { others, before, after }: UnitCounts): Bill {
  const { model, asOf, note } = price;
  // Only tiers depend on the units of other Services.
  const shared = model.type === 'tiers' ? others : 0;
  const [unitsBefore, unitsAfter] = [shared + before, shared + after];
  const hourlyBefore = hourlyPrice(model, unitsBefore);
  const hourlyAfter = hourlyPrice(model, unitsAfter);
  const change = hourlyBefore === undefined || hourlyAfter === undefined ? undefined : hourlyAfter - hourlyBefore;
  const rounded = (value: number | undefined, digits: number): number | undefined =>
    value === undefined ? undefined : Number(value.toFixed(digits)) + 0;
  return {
    unit,
    unitsBefore,
    unitsAfter,
    hourlyChange: rounded(change, 6),
    monthlyChange: rounded(change === undefined ? undefined : change * hoursPerMonth, 2),
    ...(model.type === 'tiers'
      ? {
          threshold: {
            included: model.included,
            left: Math.max(0, model.included - unitsAfter),
            scope: model.scope === 'project' ? 'the project' : 'the load balancer of the cluster',
          },
        }
      : {}),
    asOf,
    ...(note === undefined ? {} : { note }),
  };
}
