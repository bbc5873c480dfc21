import type { Logger } from 'pino';

import { messageOf } from '../../api/error-message.ts';
import { failure } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import { customResourceDefinitionKind } from '../../api/kinds/apiextensions/customresourcedefinition/kind.ts';
import type { CustomResourceDefinition } from '../../api/kinds/apiextensions/customresourcedefinition/schema.ts';
import { getOrCompute } from '../../api/maps.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode } from '../../api/schema/decode.ts';
import { Item } from '../cache/item.ts';
import { layoutOf, serialise } from '../cache/layout.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { Caller } from '../webhooks/caller.ts';
import { ConversionMetrics } from './metrics.ts';
import { ConversionError, convertedObjects, reviewOf, reviewVersion } from './review.ts';

export interface ConversionsOptions {
  readonly watchCache: WatchCache;
  readonly log: Logger;
  readonly uid: () => string;
}

/** The timeout of a call, as in kube-apiserver. */
const timeoutSeconds = 30;
/** Objects and characters of one call: a response may be several times as long as the request. */
const batchObjects = 200;
const batchLength = 512 << 10;

/** Converts an object to another kind through the stored one, without a webhook. */
export function converted(object: ApiObject, from: Kind, to: Kind): ApiObject {
  if (from === to) return object;
  const stored = from.storage === undefined ? object : from.storage.toStorage(object);
  return to.storage === undefined ? stored : to.storage.fromStorage(stored);
}

/** Objects of one version, as JSON and parsed. */
interface Sent {
  readonly texts: readonly string[];
  readonly objects: readonly ApiObject[];
}

/**
 * Calls the conversion webhooks of custom resources. Items keep their conversions, so that each version of a stored object
 * is converted once, for all requests and watches.
 */
export class Conversions implements Disposable {
  readonly metrics = new ConversionMetrics();
  readonly #options: ConversionsOptions;
  readonly #caller: Caller;
  /** kind → item → its conversion to the version of the kind, while it runs */
  readonly #running = new WeakMap<Kind, WeakMap<Item, Promise<void>>>();
  /** Definitions whose last call failed; each is logged once. */
  readonly #failing = new Set<string>();

  constructor(options: ConversionsOptions) {
    this.#options = options;
    this.#caller = new Caller(options.watchCache);
  }

  /**
   * Converts items to the version of `kind`, after which `itemInVersion` returns them. Does nothing for undefined and for
   * kinds that no webhook converts. Throws a 500 with the message of Kubernetes if the webhook fails.
   */
  async prepare(kind: Kind | undefined, items: Iterable<Item>): Promise<void> {
    if (kind?.webhookVersions === undefined) return;
    const running = getOrCompute(this.#running, kind, () => new WeakMap<Item, Promise<void>>());
    const others = new Set<Promise<void>>();
    const own: Item[] = [];
    for (const item of items) {
      if (item.problem !== undefined || item.inVersion(kind) !== undefined) continue;
      const other = running.get(item);
      if (other === undefined) own.push(item);
      else others.add(other);
    }
    for (const batch of batchesOf(own)) {
      const conversion = this.#convertItems(kind, batch);
      for (const item of batch) running.set(item, conversion);
      try {
        await conversion;
      } finally {
        for (const item of batch) running.delete(item);
      }
    }
    await Promise.all(others);
  }

  /**
   * Converts an object between versions of a kind, by a webhook or through the stored version. Throws a 500 with the message
   * of Kubernetes if the webhook fails.
   */
  async convert(object: ApiObject, from: Kind, to: Kind): Promise<ApiObject> {
    if (from === to) return object;
    if (from.webhookVersions === undefined) return converted(object, from, to);
    const typed = { ...object, kind: from.kind, apiVersion: apiVersionOf(from) };
    const [made = object] = await this.#call({ texts: [JSON.stringify(typed)], objects: [object] }, from, to);
    return made;
  }

  [Symbol.dispose](): void {
    this.#caller[Symbol.dispose]();
  }

  async #convertItems(kind: Kind, items: readonly Item[]): Promise<void> {
    const storage = kind.storage?.kind ?? kind;
    const layout = layoutOf(kind);
    for (const [from, group] of Map.groupBy(items, ({ version }) => version ?? storage)) {
      const sent = { texts: group.map(({ entry }) => entry.value), objects: group.map(({ object }) => object) };
      const made = await this.#call(sent, from, kind);
      for (const [index, item] of group.entries()) {
        const value = serialise(layout, made[index] ?? item.object);
        item.addVersion(kind, new Item({ ...item.entry, value }, layout, { version: kind }));
      }
    }
  }

  async #call(sent: Sent, from: Kind, to: Kind): Promise<readonly ApiObject[]> {
    const definition = `${from.plural}.${from.group}`;
    const started = performance.now();
    const record = (error: ConversionError | undefined): void => {
      const seconds = (performance.now() - started) / 1000;
      this.metrics.record({ definition, from: from.version, to: to.version, seconds, failure: error?.type });
      if (error === undefined) this.#failing.delete(definition);
      else if (!this.#failing.has(definition)) {
        this.#failing.add(definition);
        this.#options.log.warn(
          { definition, err: error },
          'conversion webhook failed, its errors are returned to clients',
        );
      }
    };
    try {
      const objects = await this.#review(definition, sent, to);
      record(undefined);
      return objects;
    } catch (error) {
      const known = error instanceof ConversionError ? error : callFailure(messageOf(error));
      record(known);
      const name = `conversion webhook for ${apiVersionOf(from)}, Kind=${from.kind}`;
      throw failure({ code: 500, message: `${name}${known.message}` });
    }
  }

  async #review(definition: string, { texts, objects }: Sent, to: Kind): Promise<readonly ApiObject[]> {
    const { watchCache, uid } = this.#options;
    const cache = watchCache.of(customResourceDefinitionKind);
    // The object of its cache.
    const crd = cache.get(cache.key('', definition))?.object as CustomResourceDefinition | undefined;
    const { clientConfig, conversionReviewVersions } = crd?.spec.conversion?.webhook ?? {};
    const version = reviewVersion(conversionReviewVersions ?? []);
    if (clientConfig === undefined || version === undefined) throw new Error('no supported conversion review versions');
    const review = { version, uid: uid(), to };
    const body = await this.#caller.call({
      key: definition,
      clientConfig,
      body: reviewOf(texts, review),
      timeoutSeconds,
    });
    // Fields that the version lacks are dropped.
    return convertedObjects(body, review, objects).map((object) => decode<ApiObject>(to.schema, object).object);
  }
}

const callFailure = (why: string): ConversionError =>
  new ConversionError('conversion_webhook_call_failure', ` failed: ${why}`);

function* batchesOf(items: readonly Item[]): Generator<readonly Item[], void> {
  let batch: Item[] = [];
  let length = 0;
  for (const item of items) {
    const size = item.entry.value.length;
    if (batch.length > 0 && (batch.length === batchObjects || length + size > batchLength)) {
      yield batch;
      batch = [];
      length = 0;
    }
    batch.push(item);
    length += size;
  }
  if (batch.length > 0) yield batch;
}
