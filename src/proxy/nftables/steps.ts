// Orders a change so that no packet sees an inconsistent part of it. A packet that passes during a commit sees the old rules, and
// old or new elements depending on when it reaches a map. So elements that others lead to are added before those that lead to
// them, and removed after them.
import type { Element, SetName } from './elements.ts';

/** Added and removed elements. */
export interface Edit {
  readonly gone: Element[];
  readonly come: Element[];
  /** Shared elements that a route changed, and whether they existed before. */
  readonly shared: Map<string, { readonly element: Element; readonly existed: boolean }>;
}

/** An edit in three transactions; `gone` and `come` are one. */
export interface Steps {
  readonly first: readonly Element[];
  readonly gone: readonly Element[];
  readonly come: readonly Element[];
  readonly later: readonly Element[];
}

/** The name of an element; an element that replaces another has the same. */
export const nameOf = ({ set, key }: Element): string => `${set} ${key}`;

/** Sets that are looked up after another set matched. */
const followedSets: ReadonlySet<SetName> = new Set([
  'slots-tcp',
  'slots-udp',
  'slots-sctp',
  'draw',
  'ids-tcp',
  'ids-udp',
  'ids-sctp',
  'hairpin',
  'sticky-ips',
]);

/** Sets for clients on this node, which are looked up before those for all clients. */
const nearSets: ReadonlySet<SetName> = new Set(['refused-near', 'near-pods', 'near-node']);

/** Orders an edit. New elements for clients on this node come first, with all elements that they lead to. */
export function inSteps({ gone, come }: Pick<Edit, 'gone' | 'come'>): Steps {
  const [leaving, coming] = [new Set(gone.map(nameOf)), new Set(come.map(nameOf))];
  const isNew = (element: Element): boolean => !leaving.has(nameOf(element));
  const hasNear = come.some((element) => nearSets.has(element.set) && isNew(element));
  const isFirst = (element: Element): boolean => {
    if (!isNew(element)) return false;
    const isNear = nearSets.has(element.set) || followedSets.has(element.set);
    return (hasNear && isNear) || coming.has(restriction(element));
  };
  const isLast = (element: Element): boolean => {
    if (coming.has(nameOf(element))) return false;
    return followedSets.has(element.set) || (element.set === 'allowed' && leaving.has(restriction(element)));
  };
  return {
    first: come.filter(isFirst),
    gone: gone.filter((element) => !isLast(element)),
    come: come.filter((element) => !isFirst(element)),
    later: gone.filter(isLast),
  };
}

/**
 * The name of the element that restricts the sources of a frontend. Ranges are added with it and removed after it; while it stays,
 * they change in one transaction, because they must not overlap.
 */
function restriction({ set, key }: Element): string {
  if (set !== 'allowed' && set !== 'restricted') return '';
  return nameOf({ set: 'restricted', key: set === 'allowed' ? key.slice(0, key.lastIndexOf(' . ')) : key });
}
