// Requests of Pods and what nodes can allocate, as numbers: thousandths for CPU, whole units for the rest.
import type { PodSpec } from '../../api/kinds/core/pod/schema.ts';
import { podTotals } from '../../api/kinds/core/pod/quota.ts';
import type { Quantity } from '../../api/quantity.ts';
import { parseQuantity } from '../../api/quantity.ts';

/** Resource → amount. */
export type Amounts = ReadonlyMap<string, number>;

const nanoPerUnit = 1_000_000_000n;
const nanoPerMilli = 1_000_000n;

/** Rounded up, as for requests. */
function amountOf(name: string, { nano }: Quantity): number {
  const unit = name === 'cpu' ? nanoPerMilli : nanoPerUnit;
  return Number((nano + unit - 1n) / unit);
}

/** The requests of a Pod with its overhead. */
export function requestsOf(spec: PodSpec): Amounts {
  const totals = new Map(
    Array.from(podTotals(spec, 'requests'), ([name, quantity]) => [name, amountOf(name, quantity)]),
  );
  for (const [name, text] of Object.entries(spec.overhead ?? {})) {
    totals.set(name, (totals.get(name) ?? 0) + amountOf(name, parseQuantity(String(text))));
  }
  return totals;
}

/** The amounts of a node. */
export const allocatableOf = (given: Readonly<Record<string, string | number>> = {}): Amounts =>
  new Map(Object.entries(given).map(([name, text]) => [name, amountOf(name, parseQuantity(String(text)))]));

/** What a Pod without requests counts as when nodes are compared: 100m of CPU and 200 MiB of memory. */
const assumed: Amounts = new Map([
  ['cpu', 100],
  ['memory', 200 * 1024 * 1024],
]);

/** The amount for comparing nodes. */
export const comparedAmount = (requests: Amounts, name: string): number =>
  requests.get(name) || (assumed.get(name) ?? 0);
