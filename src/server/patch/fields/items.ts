import { isObject, own } from '../json-value.ts';
import { valueElement } from './element.ts';
import type { ItemsShape, SetShape } from './shape.ts';

/** A list item that cannot be named. Carries Kubernetes' words for it. */
export class ItemError extends Error {}

/** The element that names an item of a set or of a list with keys. */
export const itemElement = (item: unknown, shape: SetShape | ItemsShape): string =>
  shape.kind === 'set' ? setElement(item) : keyElement(item, shape);

function setElement(item: unknown): string {
  if (isObject(item)) throw new ItemError("associative list without keys has an element that's a map type");
  if (Array.isArray(item)) throw new ItemError('not supported: associative list with lists as elements');
  if (item === null) throw new ItemError("associative list without keys has an element that's an explicit null");
  return valueElement(item);
}

function keyElement(item: unknown, { keys }: ItemsShape): string {
  if (item === null) throw new ItemError('associative list with keys may not have a null element');
  if (!isObject(item)) throw new ItemError('associative list with keys may not have non-map elements');
  // Built by hand: this runs for every port of every Service that is written.
  let text = '';
  for (const key of keys) {
    // A key that is absent and has no default is left out, and so names another item than any value would.
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

/** The items of a list by their element, in order. More than one under an element are duplicates. */
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
