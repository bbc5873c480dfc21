// Charges one write to one quota.
import type { Subject } from '../../api/errors.ts';
import { forbidden } from '../../api/errors.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { addQuantities, printQuantity, subtractQuantities, wholeQuantity, zero } from '../../api/quantity.ts';
import type { Amounts, QuotaEvaluator, QuotaScope } from '../../api/quota.ts';
import type { Kind } from '../../api/kind.ts';
import { countedAs } from '../../api/quota.ts';
import { getOrCompute } from '../../api/maps.ts';

/** A quota and its usage. */
export interface QuotaUsage {
  readonly name: string;
  readonly hard: Amounts;
  readonly used: Amounts;
  readonly scopes: readonly QuotaScope[];
}

/** A write: `old` is undefined for a new object. */
export interface Change {
  readonly next: ApiObject;
  readonly old: ApiObject | undefined;
}

/** The names that a quota limits and a kind counts for. */
export const limitedNames = ({ hard }: Pick<QuotaUsage, 'hard'>, evaluator: QuotaEvaluator): readonly string[] =>
  [...hard.keys()].filter((name) => evaluator.counts(name));

/** Whether a quota counts an object. */
export const isCounted = (scopes: readonly QuotaScope[], evaluator: QuotaEvaluator, object: ApiObject): boolean =>
  scopes.every((scope) => evaluator.isInScope?.(object, scope) === true);

/** The usage after a write; undefined: unchanged. Throws the 403 of Kubernetes if the write exceeds the quota. */
export function charge(
  account: QuotaUsage,
  evaluator: QuotaEvaluator,
  { next, old }: Change,
  subject: Subject,
): Amounts | undefined {
  const { name: quota, hard, used, scopes } = account;
  const names = limitedNames(account, evaluator);
  if (names.length === 0 || !isCounted(scopes, evaluator, next)) return undefined;
  const missing = evaluator.missing?.(next, names);
  if (missing !== undefined) throw forbidden(subject, `failed quota: ${quota}: ${missing}`);
  const before =
    old !== undefined && isCounted(scopes, evaluator, old) ? usageOf(evaluator, () => old, names) : undefined;
  const after = new Map(used);
  const requested = new Map<string, string>();
  const exceeded: string[] = [];
  for (const [name, amount] of usageOf(evaluator, () => next, names)) {
    const more = subtractQuantities(amount, before?.get(name) ?? zero);
    if (more.nano <= 0n) continue; // released amounts are counted after the commit
    const sum = addQuantities(used.get(name) ?? zero, more);
    requested.set(name, printQuantity(more));
    after.set(name, sum);
    if (sum.nano > (hard.get(name) ?? zero).nano) exceeded.push(name);
  }
  if (requested.size === 0) return undefined;
  if (exceeded.length === 0) return after;
  const list = (amountOf: (name: string) => string): string =>
    exceeded
      .toSorted()
      .map((name) => `${name}=${amountOf(name)}`)
      .join(',');
  const printed = (amounts: Amounts) => (name: string) => printQuantity(amounts.get(name) ?? zero);
  throw forbidden(
    subject,
    `exceeded quota: ${quota}, requested: ${list((name) => requested.get(name) ?? '')}, ` +
      `used: ${list(printed(used))}, limited: ${list(printed(hard))}`,
  );
}

const evaluators = new WeakMap<Kind, QuotaEvaluator>();

/** How objects of a kind are counted; undefined if quotas never count them. */
export function evaluatorOf(kind: Kind): QuotaEvaluator | undefined {
  const { namespaced, quota, group, plural } = kind;
  if (!namespaced || quota === 'none') return undefined;
  return (
    quota ?? getOrCompute(evaluators, kind, () => countedAs(`count/${group === '' ? plural : `${plural}.${group}`}`))
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
