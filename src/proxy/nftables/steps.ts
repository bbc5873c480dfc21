// The order in which a change is made, so that no packet finds half of it. One that passes while a transaction is committed
// sees rules of before it, elements of before it as far as it has looked, and from then on elements of after it. So what is
// asked first is there first, and what nothing leads to any more goes when no such packet is left.
import type { Element, SetName } from './elements.ts';

/** What comes and what goes. */
export interface Edit {
  readonly gone: Element[];
  readonly come: Element[];
  /** Members of shared sets that some route touched, and whether they were there before. */
  readonly shared: Map<string, { readonly element: Element; readonly wasThere: boolean }>;
}

/** An edit in the order in which it is made, in three transactions: `gone` and `come` are one. */
export interface Steps {
  readonly first: readonly Element[];
  readonly gone: readonly Element[];
  readonly come: readonly Element[];
  readonly later: readonly Element[];
}

/** How an element is called; one that comes in the place of another has its name. */
export const nameOf = ({ set, key }: Element): string => `${set} ${key}`;

/** Sets that are looked up after something else has led there. */
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

/** Sets that are asked about clients on this node before others are about everybody. */
const nearSets: ReadonlySet<SetName> = new Set(['refused-near', 'near-pods', 'near-node']);

/** Puts an edit in order. What is new for clients on this node comes first, with all that it leads to. */
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
 * The name of the question whether the sources of a frontend are restricted, for what belongs to it. Ranges come with it and go
 * after it; while it stays they change at once, since they must not overlap.
 */
function restriction({ set, key }: Element): string {
  if (set !== 'allowed' && set !== 'restricted') return '';
  return nameOf({ set: 'restricted', key: set === 'allowed' ? key.slice(0, key.lastIndexOf(' . ')) : key });
}
