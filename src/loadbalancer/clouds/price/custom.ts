// Prices of an operator that replace list prices, for a contract, another region or a private cloud.
import { isJsonObject } from '../../../api/schema/json-object.ts';
import { messageOf } from '../../../api/error-message.ts';
import type { Price, PriceBook, PriceModel } from './book.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Model → its number fields. */
const numbers: Readonly<Record<PriceModel['type'], readonly string[]>> = {
  free: [],
  operator: [],
  flat: ['hourly'],
  usage: ['hourly'],
  tiers: ['base', 'included', 'extra'],
};

/** The price book with replaced current prices. Throws an error that names the invalid entry. */
export function withCustomPrices(book: PriceBook, custom: unknown): PriceBook {
  if (!isJsonObject(custom))
    throw new Error('expected a mapping such as aws/nlb: { type: usage, hourly: 0.02, asOf: 2026-11 }');
  const changed = Object.entries(custom).map(([name, entry]) => {
    const before = Object.hasOwn(book, name) ? book[name] : undefined;
    if (before?.today === undefined)
      throw new Error(`there is no "${name}": expected one of ${currentNames(book).join(', ')}`);
    try {
      return [name, { ...before, today: priceOf(entry, before.today) }] as const;
    } catch (error) {
      throw new Error(`${name}: ${messageOf(error)}`, { cause: error });
    }
  });
  return { ...book, ...Object.fromEntries(changed) };
}

function priceOf(entry: unknown, before: Price): Price {
  if (!isJsonObject(entry)) throw new Error('expected a mapping with type, asOf and numbers');
  const { type, asOf, note, ...values } = entry;
  const desired =
    typeof type === 'string' && Object.hasOwn(numbers, type) ? numbers[type as PriceModel['type']] : undefined; // checked with hasOwn
  if (desired === undefined) throw new Error(`expected a type of ${Object.keys(numbers).join(', ')}`);
  if (typeof asOf !== 'string' || !/^\d{4}-\d\d(-\d\d)?$/.test(asOf))
    throw new Error('expected asOf, the date of the price, as 2026-11');
  if (note !== undefined && typeof note !== 'string') throw new Error('expected a string as note');
  const stray = Object.keys(values).find((key) => !desired.includes(key));
  if (stray !== undefined) throw new Error(`a price of type ${String(type)} has no "${stray}"`);
  const missing = desired.find((key) => !isPrice(values[key]));
  if (missing !== undefined) throw new Error(`expected ${missing}, a number of 0 or more`);
  return { model: modelOf(type as PriceModel['type'], values, before), asOf, ...(note === undefined ? {} : { note }) };
}

/** The scope of tiers is a property of the cloud and cannot be replaced. */
function modelOf(type: PriceModel['type'], values: Entry, { model }: Price): PriceModel {
  const [hourly, base, included, extra] = ['hourly', 'base', 'included', 'extra'].map((key) =>
    Number(values[key] ?? 0),
  );
  switch (type) {
    case 'free':
    case 'operator':
      return { type };
    case 'flat':
    case 'usage':
      return { type, hourly: hourly ?? 0 };
    case 'tiers': {
      const scope = model.type === 'tiers' ? model.scope : 'loadBalancer';
      return { type, base: base ?? 0, included: included ?? 0, extra: extra ?? 0, scope };
    }
  }
}

const isPrice = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value >= 0;

const currentNames = (book: PriceBook): readonly string[] =>
  Object.entries(book).flatMap(([name, { today }]) => (today === undefined ? [] : name));
