import { readFileSync } from 'node:fs';
import { CORE_SCHEMA, load } from 'js-yaml';
import { fileErrorOf } from '../../api/error-message.ts';
import type { PriceBook } from '../../loadbalancer/clouds/price/book.ts';
import { priceBook } from '../../loadbalancer/clouds/price/book.ts';
import { withCustomPrices } from '../../loadbalancer/clouds/price/custom.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { readFlag } from '../options/flags.ts';
import { nonEmpty } from '../options/values.ts';
import { yamlError } from '../options/yaml-error.ts';

export const pricesFlag: Flag = {
  name: 'prices',
  value: 'FILE',
  description: 'prices that override the built-in ones; see examples/loadbalancer/prices.yaml',
};

/** The prices of `--prices`: the built-in ones, overridden by those of the file. Undefined without the flag. */
export function pricesOf(settings: Settings): PriceBook | undefined {
  const path = readFlag<string | undefined>(settings, pricesFlag.name, nonEmpty('a path'), undefined);
  return path === undefined ? undefined : readPrices(path);
}

function readPrices(path: string): PriceBook {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read --prices ${path}: ${fileErrorOf(error)}`, { cause: error });
  }
  try {
    return withCustomPrices(priceBook, load(text, { schema: CORE_SCHEMA }));
  } catch (error) {
    throw yamlError(path, error);
  }
}
