import type { ResourceQuota } from '../../api/kinds/core/resourcequota/schema.ts';
import type { Quantity } from '../../api/quantity.ts';
import { addQuantities, parseQuantity, subtractQuantities, wholeQuantity, zero } from '../../api/quantity.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { yieldToEventLoop } from '../../machine/timers.ts';
import type { CacheEvent } from '../cache/history.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Item } from '../cache/item.ts';
import type { QuotaUsage } from './charge.ts';
import { evaluatorOf, isCounted, limitedNames, usageOf } from './charge.ts';
import type { Amounts, QuotaEvaluator, QuotaScope } from '../../api/quota.ts';

export interface TrackerListener {
  /** The usage may have changed. */
  readonly onChange: () => void;
  /** A change was missed, such as one of an object that cannot be decrypted. The listener replaces the tracker. */
  readonly onLost: () => void;
}

/** The number of characters to read per turn of the event loop: a few milliseconds. */
const sliceLength = 512 * 1024;

/**
 * The limits of one quota and its usage by the objects in the caches. It counts existing objects in slices, one per turn
 * of the event loop, and follows changes from its creation on. Once `isCounted`, the usage is exact for the revision of
 * the watchCache, and reading it is free.
 */
export class QuotaTracker implements QuotaUsage, Disposable {
  readonly name: string;
  readonly hard: Amounts;
  readonly scopes: readonly QuotaScope[];
  readonly #used = new Map<string, Quantity>();
  /** Resolves when all objects are counted or the tracker is disposed of. */
  readonly counted: Promise<void>;
  readonly #watches: readonly Disposable[];
  readonly #uncounted: (readonly [items: Iterable<Item>, evaluator: QuotaEvaluator, names: readonly string[]])[] = [];
  #isCounted = false;
  #isDisposed = false;

  constructor(watchCache: WatchCache, { metadata, spec }: ResourceQuota, { onChange, onLost }: TrackerListener) {
    const { namespace = '', name = '' } = metadata;
    this.name = name;
    this.hard = new Map(Object.entries(spec.hard ?? {}).map(([key, amount]) => [key, parseQuantity(String(amount))]));
    this.scopes = scopesOf(spec);
    this.#watches = Array.from(watchCache.caches).flatMap((cache) => {
      const evaluator = evaluatorOf(cache.kind);
      const names = evaluator === undefined ? [] : limitedNames(this, evaluator);
      if (evaluator === undefined || names.length === 0) return [];
      const scope = cache.scope(namespace);
      for (const name of names) this.#used.set(name, zero);
      if (evaluator.usage === undefined && this.scopes.length === 0) this.#addCount(cache.count(scope), names);
      else this.#uncounted.push([cache.walk(scope), evaluator, names]);
      const notify = ({ item, previous }: CacheEvent): void => {
        this.#change(usageIn(this.scopes, evaluator, names, previous), subtractQuantities);
        this.#change(usageIn(this.scopes, evaluator, names, item), addQuantities);
        onChange();
      };
      return [cache.watchers.watch(notify, { scope, end: onLost })];
    });
    this.counted = this.#countAll();
  }

  get isCounted(): boolean {
    return this.#isCounted;
  }

  /** Name → amount, for the names that are limited and counted. */
  get used(): Amounts {
    return this.#used;
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    for (const watch of this.#watches) watch[Symbol.dispose]();
  }

  #addCount(count: number, names: readonly string[]): void {
    for (const name of names) this.#used.set(name, wholeQuantity(count));
  }

  async #countAll(): Promise<void> {
    let length = 0;
    for (const [items, evaluator, names] of this.#uncounted.splice(0)) {
      for (const item of items) {
        length += item.entry.value.length;
        if (length > sliceLength) {
          await yieldToEventLoop();
          length = 0;
        }
        if (this.#isDisposed) break;
        this.#change(usageIn(this.scopes, evaluator, names, item), addQuantities);
      }
    }
    this.#isCounted = true;
  }

  #change(amounts: Amounts, apply: (a: Quantity, b: Quantity) => Quantity): void {
    for (const [name, amount] of amounts) this.#used.set(name, apply(this.#used.get(name) ?? zero, amount));
  }
}

const nothing: Amounts = new Map();

function usageIn(
  scopes: readonly QuotaScope[],
  evaluator: QuotaEvaluator,
  names: readonly string[],
  item: Item | undefined,
): Amounts {
  if (item === undefined) return nothing;
  // Without scopes, `usageOf` may count the object without parsing it.
  if (scopes.length > 0 && !isCounted(scopes, evaluator, readable(item))) return nothing;
  return usageOf(evaluator, () => readable(item), names);
}

/** An object that cannot be decrypted is counted without its content. */
const readable = ({ object, problem }: Item): ApiObject =>
  problem === undefined ? object : ({ metadata: object.metadata, spec: {}, status: {} } as ApiObject);

/** All scopes of a quota; it counts the objects that are in each. */
const scopesOf = ({ scopes = [], scopeSelector }: ResourceQuota['spec']): readonly QuotaScope[] => [
  ...scopes.map((scopeName) => ({ scopeName, operator: 'Exists' })),
  ...(scopeSelector?.matchExpressions ?? []),
];
