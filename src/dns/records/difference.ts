import type { Said } from './packed.ts';
import { identityOf, saysTheSame } from './packed.ts';

/** What came of a source that says something else now. */
export interface Difference {
  /** What is said from now on: what was said before is the same object. */
  readonly now: readonly Said[];
  readonly added: readonly Said[];
  readonly removed: readonly Said[];
}

/** Compares. Sources mostly change in one place, so that both ends are passed over before anything is looked up. */
export function difference(before: readonly Said[], after: readonly Said[]): Difference {
  let start = 0;
  const shorter = Math.min(before.length, after.length);
  while (start < shorter && isSame(before[start], after[start])) start++;
  let end = 0;
  while (end < shorter - start && isSame(before.at(-1 - end), after.at(-1 - end))) end++;
  const left = new Map<string, Said[]>();
  for (const said of before.slice(start, before.length - end)) {
    const identity = identityOf(said);
    const others = left.get(identity);
    if (others === undefined) left.set(identity, [said]);
    else others.push(said);
  }
  const added: Said[] = [];
  const middle = after.slice(start, after.length - end).map((said) => {
    const same = left.get(identityOf(said))?.pop();
    if (same === undefined) added.push(said);
    return same ?? said;
  });
  const now = before.slice(0, start).concat(middle, before.slice(before.length - end));
  return { now, added, removed: [...left.values()].flat() };
}

const isSame = (one: Said | undefined, other: Said | undefined): boolean =>
  one !== undefined && other !== undefined && saysTheSame(one, other);
