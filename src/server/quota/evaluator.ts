// What an object counts for in quotas: a pure question about one object.
import type { ApiObject } from '../../api/metadata.ts';
import type { Quantity } from '../../api/quantity.ts';
import { wholeQuantity } from '../../api/quantity.ts';
import type { Scope } from './scopes.ts';

/** Amounts by the names that quotas give them. */
export type Amounts = ReadonlyMap<string, Quantity>;

/** How the objects of one kind are counted. Objects are of that kind, as they are stored. */
export interface Evaluator {
  /** Whether something of the kind is counted under the name. */
  readonly counts: (name: string) => boolean;
  /** What an object uses; left out: one of each name that is counted, so that nothing is read to count it. */
  readonly usage?: (object: ApiObject) => Amounts;
  /** Whether an object is in a scope; left out: it is in none. */
  readonly isInScope?: (object: ApiObject, scope: Scope) => boolean;
  /** What a new object must have where quotas limit these names, in Kubernetes' words. */
  readonly missing?: (object: ApiObject, names: readonly string[]) => string | undefined;
  /** A changed object is checked, too. */
  readonly checksUpdates?: true;
}

const one = wholeQuantity(1);

/** What an object uses of what a quota limits; it is only read where its content matters. */
export function usageOf({ usage }: Evaluator, object: () => ApiObject, names: readonly string[]): Amounts {
  const used = usage?.(object());
  return new Map(
    names.flatMap((name) => {
      const amount = used === undefined ? one : used.get(name);
      return amount === undefined || amount.nano === 0n ? [] : [[name, amount]];
    }),
  );
}
