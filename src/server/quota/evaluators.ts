// How objects of each kind are counted: the evaluator of the kind, or one per object.
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { wholeQuantity } from '../../api/quantity.ts';
import type { Amounts, QuotaEvaluator } from '../../api/quota.ts';
import { countedAs } from '../../api/quota.ts';

const evaluators = new WeakMap<Kind, QuotaEvaluator>();

/** How objects of a kind are counted; undefined if quotas never count them. */
export function evaluatorOf(kind: Kind): QuotaEvaluator | undefined {
  const { namespaced, quota, group, plural } = kind;
  if (!namespaced || quota === 'none') return undefined;
  return (
    quota ??
    evaluators.getOrInsertComputed(kind, () => countedAs(`count/${group === '' ? plural : `${plural}.${group}`}`))
  );
}

const one = wholeQuantity(1);

/** What an object uses of the limited names. The object is only decoded if its content matters. */
export function usageOf(evaluator: QuotaEvaluator, object: () => ApiObject, names: readonly string[]): Amounts {
  const used = evaluator.usage?.(object());
  return new Map(
    names.flatMap((name) => {
      const amount = used === undefined ? one : used.get(name);
      return amount === undefined || amount.nano === 0n ? [] : [[name, amount]];
    }),
  );
}
