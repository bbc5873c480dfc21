import type { Route } from '../routes/route.ts';

/**
 * The keys of the routes that get one of `count` listeners: namespaces have equal shares, and within each of them Services. An
 * unused part of a share goes to the others. Within a Service the first routes get them.
 */
export function fairShare(routes: Iterable<readonly [string, Route]>, count: number): ReadonlySet<string> {
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
  for (const [owners, share] of divide([...namespaces.values()], demandOf, count)) {
    for (const [keys, own] of divide([...owners.values()], ({ length }) => length, share)) {
      for (const key of keys.slice(0, own)) chosen.add(key);
    }
  }
  return chosen;
}

/** Divides `count` evenly; what one does not need goes to those that need more. */
function divide<T>(all: readonly T[], demandOf: (one: T) => number, count: number): [T, number][] {
  const byDemand = all.map((one) => ({ one, demand: demandOf(one) })).toSorted((a, b) => a.demand - b.demand);
  let left = count;
  return byDemand.map(({ one, demand }, index) => {
    const share = Math.min(demand, Math.floor(left / (byDemand.length - index)));
    left -= share;
    return [one, share];
  });
}
