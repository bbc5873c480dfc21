import type { ResourceQuota } from '../../api/kinds/core/resourcequota/schema.ts';
import type { Quantity } from '../../api/quantity.ts';
import { addQuantities, parseQuantity, subtractQuantities, wholeQuantity, zero } from '../../api/quantity.ts';
import type { CacheEvent } from '../cache/history.ts';
import type { CacheHub } from '../cache/hub.ts';
import type { Item } from '../cache/item.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import type { Watcher } from '../cache/watchers.ts';
import type { Account } from './charge.ts';
import { isCounted, limitedNames } from './charge.ts';
import type { Amounts, Evaluator } from './evaluator.ts';
import { usageOf } from './evaluator.ts';
import { evaluatorOf } from './evaluators.ts';
import type { Scope } from './scopes.ts';
import { scopesOf } from './scopes.ts';

/**
 * What one quota limits, and what is used of it by the objects in the caches. It reads them once and then follows their
 * changes, so that asking costs nothing. `used` is exact for the revision of the hub.
 */
export class QuotaTracker implements Account, Disposable {
  readonly name: string;
  readonly hard: Amounts;
  readonly scopes: readonly Scope[];
  readonly #used = new Map<string, Quantity>();
  readonly #watchers: readonly (readonly [ResourceCache, Watcher])[];

  constructor(hub: CacheHub, { metadata, spec }: ResourceQuota, onChange: () => void) {
    const { namespace = '', name = '' } = metadata;
    this.name = name;
    this.hard = new Map(Object.entries(spec.hard ?? {}).map(([key, amount]) => [key, parseQuantity(String(amount))]));
    this.scopes = scopesOf(spec);
    this.#watchers = Array.from(hub.caches).flatMap((cache) => {
      const evaluator = evaluatorOf(cache.kind);
      const names = evaluator === undefined ? [] : limitedNames(this, evaluator);
      if (evaluator === undefined || names.length === 0) return [];
      const scope = cache.scope(namespace);
      this.#addAll(cache, scope, evaluator, names);
      const notify = ({ item, previous }: CacheEvent): void => {
        this.#change(usageIn(this.scopes, evaluator, names, previous), subtractQuantities);
        this.#change(usageIn(this.scopes, evaluator, names, item), addQuantities);
        onChange();
      };
      const watcher: Watcher = { scope, exact: false, notify, progress: () => undefined };
      cache.watchers.add(watcher);
      return [[cache, watcher] as const];
    });
  }

  /** By the names that are limited and that something counts for. */
  get used(): Amounts {
    return this.#used;
  }

  [Symbol.dispose](): void {
    for (const [cache, watcher] of this.#watchers) cache.watchers.remove(watcher);
  }

  #addAll(cache: ResourceCache, scope: string, evaluator: Evaluator, names: readonly string[]): void {
    for (const name of names) this.#used.set(name, zero);
    if (evaluator.usage === undefined && this.scopes.length === 0) {
      const count = wholeQuantity(cache.count(scope));
      for (const name of names) this.#used.set(name, count);
      return;
    }
    for (const item of cache.range(scope)) this.#change(usageIn(this.scopes, evaluator, names, item), addQuantities);
  }

  #change(amounts: Amounts, apply: (a: Quantity, b: Quantity) => Quantity): void {
    for (const [name, amount] of amounts) this.#used.set(name, apply(this.#used.get(name) ?? zero, amount));
  }
}

const nothing: Amounts = new Map();

function usageIn(
  scopes: readonly Scope[],
  evaluator: Evaluator,
  names: readonly string[],
  item: Item | undefined,
): Amounts {
  if (item === undefined) return nothing;
  // One of each name is counted without reading the object.
  if (scopes.length > 0 && !isCounted(scopes, evaluator, item.object)) return nothing;
  return usageOf(evaluator, () => item.object, names);
}
