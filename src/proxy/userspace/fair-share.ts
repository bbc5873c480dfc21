import type { Route } from '../routes/route.ts';

/**
 * The keys of the routes that may have a listener when there are `most` of them: every namespace has the same share, and
 * in it every Service. What one does not need is left to the others. Within a Service those that come first.
 */
export function fairShare(routes: Iterable<readonly [string, Route]>, most: number): ReadonlySet<string> {
  const namespaces = new Map<string, Map<string, string[]>>();
  for (const [key, { owner }] of routes) {
    const namespace = /^\S+ ([^/]+)/.exec(owner)?.[1] ?? ''; // `Service shop/web`
    const owners = namespaces.get(namespace) ?? new Map<string, string[]>();
    namespaces.set(namespace, owners);
    const keys = owners.get(owner);
    if (keys === undefined) owners.set(owner, [key]);
    else keys.push(key);
  }
  const chosen = new Set<string>();
  const demandOf = (owners: Map<string, string[]>): number =>
    Array.from(owners.values()).reduce((sum, { length }) => sum + length, 0);
  for (const [owners, share] of divide([...namespaces.values()], demandOf, most)) {
    for (const [keys, count] of divide([...owners.values()], ({ length }) => length, share)) {
      for (const key of keys.slice(0, count)) chosen.add(key);
    }
  }
  return chosen;
}

/** Divides `most` evenly; those that need less than their part leave the rest to those that need more. */
function divide<T>(all: readonly T[], demandOf: (one: T) => number, most: number): [T, number][] {
  const byDemand = all.map((one) => ({ one, demand: demandOf(one) })).toSorted((a, b) => a.demand - b.demand);
  let left = most;
  return byDemand.map(({ one, demand }, index) => {
    const share = Math.min(demand, Math.floor(left / (byDemand.length - index)));
    left -= share;
    return [one, share];
  });
}
