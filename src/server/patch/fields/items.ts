import { isJsonObject } from '../../../api/schema/json-object.ts';
import { own } from '../json-value.ts';
import { valueElement } from './element.ts';
import type { ItemsShape, SetShape } from './shape.ts';

/** A list item that cannot be identified, with Kubernetes' message. */
export class ItemError extends Error {}

/** The element that identifies an item of a set or of a list with keys. */
export const itemElement = (item: unknown, shape: SetShape | ItemsShape): string =>
  shape.kind === 'set' ? setElement(item) : keyElement(item, shape);

function setElement(item: unknown): string {
  if (isJsonObject(item)) throw new ItemError("associative list without keys has an element that's a map type");
  if (Array.isArray(item)) throw new ItemError('not supported: associative list with lists as elements');
  if (item === null) throw new ItemError("associative list without keys has an element that's an explicit null");
  return valueElement(item);
}

function keyElement(item: unknown, { keys }: ItemsShape): string {
  if (item === null) throw new ItemError('associative list with keys may not have a null element');
  if (!isJsonObject(item)) throw new ItemError('associative list with keys may not have non-map elements');
  // Not JSON.stringify of an object: this runs for every port of every written Service.
  let text = '';
  for (const key of keys) {
    // An absent key without a default is omitted, which differs from every value.
    const value = own(item, key.name) ?? key.default;
    if (value !== undefined) text += `${text === '' ? '' : ','}"${key.name}":${JSON.stringify(value)}`;
  }
  if (text === '') throw new ItemError(omitsAllKeys(keys.map(({ name }) => name)));
  return `k:{${text}}`;
}

const omitsAllKeys = (names: readonly string[]): string => {
  const printed = names.map((name) => JSON.stringify(name)).join(' ');
  return `associative list with keys has an element that omits all key fields [${printed}] (and doesn't have default values for any key fields)`;
};

/** element → its items, in order; several items are duplicates */
export function groupItems(list: readonly unknown[], shape: SetShape | ItemsShape): Map<string, unknown[]> {
  const groups = new Map<string, unknown[]>();
  for (const item of list) {
    const element = itemElement(item, shape);
    const group = groups.get(element);
    if (group === undefined) groups.set(element, [item]);
    else group.push(item);
  }
  return groups;
}
