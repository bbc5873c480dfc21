// Path elements of `fieldsV1`: `f:name` (a field or a map key), `k:{"port":80}` (an item identified by its key
// fields, sorted), `v:"text"` (an item of a set) and `i:3` (an index; not written today).

import { isJsonObject } from '../../../api/schema/json-object.ts';
import { byKey, compareText } from '../../../api/order.ts';

export const fieldElement = (name: string): string => `f:${name}`;
export const valueElement = (value: unknown): string => `v:${JSON.stringify(value)}`;

const kinds = ['f', 'k', 'v', 'i'];

/**
 * The canonical spelling of an element; undefined for an unknown kind, which readers must skip. Throws a SyntaxError if
 * it is malformed.
 */
export function normalElement(element: string): string | undefined {
  if (element[1] !== ':') throw new SyntaxError(`missing colon: ${element}`);
  const text = element.slice(2);
  switch (element.charAt(0)) {
    case 'f':
      return element;
    case 'v':
      return valueElement(JSON.parse(text));
    case 'k': {
      const key: unknown = JSON.parse(text);
      if (!isJsonObject(key)) throw new SyntaxError(`not a key: ${element}`);
      return `k:${JSON.stringify(Object.fromEntries(sortedFields(key)))}`;
    }
    case 'i':
      if (!/^-?\d+$/.test(text)) throw new SyntaxError(`not an index: ${element}`);
      return `i:${Number(text)}`;
    default:
      return undefined;
  }
}

/**
 * Sorts elements in the order of `fieldsV1`: by kind, then names by text, keys and values by value. Returns the same list
 * if it is sorted. Parses each element once, since parsing costs more than comparing.
 */
export function sortElements(elements: readonly string[]): readonly string[] {
  // Names, and the mark `.`, which comes first, are sorted by text.
  if (elements.every((element) => element.startsWith('f') || element.startsWith('.'))) {
    return isSorted(elements, compareText) ? elements : elements.toSorted();
  }
  const read = elements.map(readElement);
  return isSorted(read, compareRead) ? elements : read.sort(compareRead).map(({ element }) => element);
}

function isSorted<T>(items: readonly T[], compare: (left: T, right: T) => number): boolean {
  let previous: T | undefined;
  for (const item of items) {
    if (previous !== undefined && compare(previous, item) > 0) return false;
    previous = item;
  }
  return true;
}

/** A parsed element with its sort keys. */
interface ReadElement {
  readonly element: string;
  readonly kind: number;
  readonly fields: readonly KeyField[];
  readonly value: unknown;
}

const noFields: readonly KeyField[] = [];

function readElement(element: string): ReadElement {
  const kind = kinds.indexOf(element[0] ?? '');
  switch (element.charAt(0)) {
    case 'k':
      return { element, kind, fields: fieldsOf(element), value: undefined };
    case 'v':
      return { element, kind, fields: noFields, value: JSON.parse(element.slice(2)) };
    case 'i':
      return { element, kind, fields: noFields, value: Number(element.slice(2)) };
    default:
      return { element, kind, fields: noFields, value: element };
  }
}

const compareRead = (left: ReadElement, right: ReadElement): number =>
  left.kind - right.kind || compareKeys(left.fields, right.fields) || compareScalars(left.value, right.value);

function compareKeys(left: readonly KeyField[], right: readonly KeyField[]): number {
  for (const [index, [name, value]] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (name !== other[0]) return name < other[0] ? -1 : 1;
    const order = compareScalars(value, other[1]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

const types = ['number', 'string', 'boolean'];

function compareScalars(left: unknown, right: unknown): number {
  const [leftType, rightType] = [types.indexOf(typeof left), types.indexOf(typeof right)];
  if (leftType !== rightType) return leftType - rightType;
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right);
  return Number(left) - Number(right);
}

/** An element in messages: `.spec`, `[port=80,protocol="TCP"]`, `[="text"]`. */
export function printElement(element: string): string {
  const text = element.slice(2);
  switch (element.charAt(0)) {
    case 'k':
      return `[${fieldsOf(element)
        .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
        .join(',')}]`;
    case 'v':
      return `[=${text}]`;
    case 'i':
      return `[${text}]`;
    default:
      return `.${text}`;
  }
}

type KeyField = readonly [name: string, value: unknown];

function fieldsOf(element: string): KeyField[] {
  const key: unknown = JSON.parse(element.slice(2));
  return isJsonObject(key) ? sortedFields(key) : [];
}

const sortedFields = (key: object): KeyField[] => Object.entries(key).toSorted(byKey);
