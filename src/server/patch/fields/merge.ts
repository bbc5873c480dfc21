import { isEmptyObject, isJsonObject, setField } from '../../../api/schema/json-object.ts';
import type { StructSchema } from '../../../api/schema/schema.ts';
import type { JsonObject } from '../json-value.ts';
import { isList, own } from '../json-value.ts';
import { groupItems, itemElement } from './items.ts';
import type { ItemsShape, SetShape, Shape } from './shape.ts';
import { shapeAt, structShapeOf } from './shape.ts';

/** Merges a configuration into the live object: leaves of the configuration win, nothing is removed. */
export function mergeConfiguration(live: JsonObject, config: JsonObject, schema: StructSchema): JsonObject {
  return mergeObjects(live, config, structShapeOf(schema));
}

function mergeValues(live: unknown, config: unknown, shape: Shape): unknown {
  if (live === undefined) return config;
  switch (shape.kind) {
    case 'leaf':
      return config;
    case 'struct':
    case 'map':
      return mergeContainers(live, config, shape);
    case 'undeclared':
      return isJsonObject(config) || config === null ? mergeContainers(live, config, shape) : config;
    case 'set':
    case 'items':
      return mergeLists(isList(live) ? live : [], isList(config) ? config : [], shape) ?? config;
  }
}

function mergeContainers(live: unknown, config: unknown, shape: Shape): unknown {
  if (!isJsonObject(live) || isEmptyObject(live)) return config;
  return isJsonObject(config) ? mergeObjects(live, config, shape) : live;
}

function mergeObjects(live: JsonObject, config: JsonObject, shape: Shape): JsonObject {
  const merged: Record<string, unknown> = { ...live };
  for (const [key, value] of Object.entries(config)) {
    setField(merged, key, mergeValues(own(merged, key), value, shapeAt(shape, key)));
  }
  return merged;
}

/**
 * Merges items by their element; undefined if both lists are empty. Items of the configuration keep its order; items only
 * in the live list stay before the next shared item.
 */
function mergeLists(
  live: readonly unknown[],
  config: readonly unknown[],
  shape: SetShape | ItemsShape,
): readonly unknown[] | undefined {
  if (config.length === 0) return live.length === 0 ? undefined : live;
  const liveItems = itemsByElement(live, shape);
  const configElements = config.map((item) => itemElement(item, shape));
  const wanted = new Set(configElements);
  const shared = configElements.filter((element) => liveItems.has(element)).values();
  let nextShared = shared.next().value;

  const merged: unknown[] = [];
  let placed = 0;
  const placeNext = (): string => {
    const element = configElements[placed] ?? '';
    const items: Shape = shape.kind === 'set' ? { kind: 'leaf' } : shape.items;
    merged.push(mergeValues(liveItems.get(element), config[placed], items));
    placed++;
    return element;
  };

  for (const item of live) {
    const element = itemElement(item, shape);
    if (!wanted.has(element)) merged.push(item);
    // A shared item that comes later in the configuration is placed there.
    else if (element === nextShared) {
      while (placeNext() !== element);
      nextShared = shared.next().value;
    }
  }
  while (placed < config.length) placeNext();
  return merged;
}

/** element → live item; null for duplicates, which an item of the configuration replaces. */
function itemsByElement(live: readonly unknown[], shape: SetShape | ItemsShape): ReadonlyMap<string, unknown> {
  return new Map([...groupItems(live, shape)].map(([element, items]) => [element, items.length > 1 ? null : items[0]]));
}
