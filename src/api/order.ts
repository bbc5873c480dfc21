// Orders for sorting, by UTF-16 code units like `sort` without a function.
import type { ApiObject } from './metadata.ts';

/** Compares texts; an absent one is empty. */
export const compareText = (left = '', right = ''): number => (left < right ? -1 : left > right ? 1 : 0);

/** Compares entries of a map or an object by key. */
export const byKey = ([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number =>
  compareText(left, right);

/** Compares objects by name, so that plans do not depend on the order of a cache. */
export const byName = (left: ApiObject, right: ApiObject): number =>
  compareText(left.metadata.name, right.metadata.name);
