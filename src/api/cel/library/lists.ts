// Kubernetes' functions for lists, sets, and cel-go's extension for lists.

import type { CelFunction, Run } from '../functions.ts';
import { define } from '../functions.ts';
import { CelError, CelList, compareNumbers, Duration, equals, isNumber, Timestamp, Uint } from '../values.ts';
import type { Value } from '../values.ts';

function compare(left: Value, right: Value): number {
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right);
  if (left instanceof Timestamp && right instanceof Timestamp) return compareNumbers(left.nanos, right.nanos);
  if (left instanceof Duration && right instanceof Duration) return compareNumbers(left.nanos, right.nanos);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right);
  if ((typeof left === 'string' || typeof left === 'boolean') && typeof left === typeof right && right !== null) {
    return left < right ? -1 : left > right ? 1 : 0;
  }
  throw new CelError('no such overload');
}

const isSorted = (list: CelList): boolean =>
  list.items.every((item, index) => index === 0 || compare(list.at(index - 1), item) <= 0);

function sum(list: CelList): Value {
  let total: Value = 0n;
  for (const [index, item] of list.items.entries()) total = index === 0 ? item : plus(total, item);
  return total;
}

function plus(left: Value, right: Value): Value {
  if (typeof left === 'bigint' && typeof right === 'bigint') {
    const result = left + right;
    if (BigInt.asIntN(64, result) !== result) throw new CelError('integer overflow');
    return result;
  }
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (left instanceof Uint && right instanceof Uint) return new Uint(left.value + right.value);
  if (left instanceof Duration && right instanceof Duration) return new Duration(left.nanos + right.nanos);
  throw new CelError('no such overload');
}

const extreme =
  (name: string, sign: number) =>
  (list: CelList): Value => {
    if (list.size === 0) throw new CelError(`${name} called on empty list`);
    return list.items.reduce((best, item) => (compare(item, best) * sign > 0 ? item : best));
  };

const find =
  (fromEnd: boolean) =>
  (list: CelList, item: Value, run: Run): bigint => {
    const spend = (cost: number): void => run.spend(cost);
    for (let step = 0; step < list.size; step++) {
      const index = fromEnd ? list.size - 1 - step : step;
      if (equals(list.at(index), item, spend)) return BigInt(index);
    }
    return -1n;
  };

const perItem = ([size = 0]: readonly number[]): number => 1 + size;
const pairs = ([left = 0, right = 0]: readonly number[]): number => 1 + left * right;

const includes = (list: CelList, item: Value, run: Run): boolean => find(false)(list, item, run) >= 0n;
const contains = (list: CelList, part: CelList, run: Run): boolean =>
  part.items.every((item) => includes(list, item, run));

function distinct(list: CelList, run: Run): CelList {
  const kept: Value[] = [];
  for (const item of list.items) {
    run.spend(kept.length * 0.1);
    if (!kept.some((each) => equals(each, item, (cost) => run.spend(cost)))) kept.push(item);
  }
  return CelList.of(kept);
}

const flatten = (list: CelList, depth: number): readonly Value[] =>
  list.items.flatMap((item) => (item instanceof CelList && depth > 0 ? flatten(item, depth - 1) : [item]));

function slice(list: CelList, from: bigint, to: bigint): CelList {
  if (from < 0n || to < 0n || from > to || to > BigInt(list.size)) {
    throw new CelError(`cannot slice(${from}, ${to}), list is length ${list.size}`);
  }
  return CelList.of(list.items.slice(Number(from), Number(to)));
}

const maxRange = 1_000_000n;

function range(count: bigint, run: Run): CelList {
  if (count > maxRange) throw new CelError(`lists.range(${count}) is too long`);
  run.spend(Number(count));
  return CelList.of(Array.from({ length: Math.max(Number(count), 0) }, (_, index) => BigInt(index)));
}

export const listFunctions: readonly CelFunction[] = [
  define('list<A>.isSorted(): bool', isSorted, perItem),
  define('list<A>.sum(): A', sum, perItem),
  define('list<A>.min(): A', extreme('min', -1), perItem),
  define('list<A>.max(): A', extreme('max', 1), perItem),
  define('list<A>.indexOf(A): int', find(false), perItem),
  define('list<A>.lastIndexOf(A): int', find(true), perItem),
  define('::sets.contains(list<A>, list<A>): bool', contains, pairs),
  define(
    '::sets.intersects(list<A>, list<A>): bool',
    (left: CelList, right: CelList, run: Run) => right.items.some((item) => includes(left, item, run)),
    pairs,
  ),
  define(
    '::sets.equivalent(list<A>, list<A>): bool',
    (left: CelList, right: CelList, run: Run) => contains(left, right, run) && contains(right, left, run),
    pairs,
  ),
  define('list<A>.slice(int, int): list<A>', slice, perItem),
  define('list<A>.flatten(): list<dyn>', (list: CelList) => CelList.of(flatten(list, 1)), perItem),
  define(
    'list<A>.flatten(int): list<dyn>',
    (list: CelList, depth: bigint) => {
      if (depth < 0n) throw new CelError('level must be non-negative');
      return CelList.of(flatten(list, Number(depth)));
    },
    perItem,
  ),
  define('list<A>.distinct(): list<A>', distinct, perItem),
  define('list<A>.reverse(): list<A>', (list: CelList) => CelList.of(list.items.toReversed()), perItem),
  define(
    'list<A>.sort(): list<A>',
    (list: CelList) => CelList.of(list.items.toSorted(compare)),
    ([size = 0]) => 1 + size * 2,
  ),
  define('::lists.range(int): list<int>', range),
];
