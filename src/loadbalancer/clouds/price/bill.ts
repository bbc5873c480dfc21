import type { Price, PriceModel } from './book.ts';
import { hoursPerMonth } from './book.ts';

/** How many billed units there are in the scope that a price counts, before and after. */
export interface UnitCounts {
  /** Units of others in the same scope. */
  readonly others: number;
  readonly before: number;
  readonly after: number;
}

/** What a change does to the bill. */
export interface Bill {
  /** What is counted: `listener`, `rule`. */
  readonly unit: string;
  /** Units in the scope of the price, those of others included where it has one. */
  readonly unitsBefore: number;
  readonly unitsAfter: number;
  /** US dollars; undefined where only the operator knows. */
  readonly hourlyChange: number | undefined;
  readonly monthlyChange: number | undefined;
  /** Where the price has a threshold: how many units the base price covers, and how many of them are left after. */
  readonly threshold?: { readonly included: number; readonly left: number; readonly scope: string };
  readonly asOf: string;
  readonly note?: string;
}

/** The hourly price of so many units of one model; undefined where only the operator knows. */
export function hourlyPrice(model: PriceModel, units: number): number | undefined {
  if (model.type === 'operator') return undefined;
  if (units === 0 || model.type === 'free') return 0;
  if (model.type !== 'tiers') return model.hourly;
  return model.base + model.extra * Math.max(0, units - model.included);
}

/** The change of the bill when the units of one load balancer change. */
export function billFor(price: Price, unit: string, { others, before, after }: UnitCounts): Bill {
  const { model, asOf, note } = price;
  // Only tiers look at what others have; everything else is billed by the instance.
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
