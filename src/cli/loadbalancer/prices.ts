import { readFileSync } from 'node:fs';
import { CORE_SCHEMA, load } from 'js-yaml';
import { messageOf } from '../../api/error-message.ts';
import type { PriceBook } from '../../loadbalancer/clouds/price/book.ts';
import { priceBook } from '../../loadbalancer/clouds/price/book.ts';
import { withCustomPrices } from '../../loadbalancer/clouds/price/custom.ts';
import { UsageError } from '../errors.ts';
import type { Flag } from '../options/flags.ts';
import { yamlError } from '../options/yaml-error.ts';

export const pricesFlag: Flag = {
  name: 'prices',
  value: 'FILE',
  description: 'prices that override the built-in ones; see examples/loadbalancer/prices.yaml',
};

/** The built-in prices, overridden by those of the file. */
export function readPrices(path: string): PriceBook {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read --prices ${path}: ${messageOf(error)}`, { cause: error });
  }
  try {
    return withCustomPrices(priceBook, load(text, { schema: CORE_SCHEMA }));
  } catch (error) {
    throw yamlError(path, error);
  }
}
