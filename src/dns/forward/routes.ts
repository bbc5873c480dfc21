import type { Name } from '../../dnswire/data.ts';
import { parentOf } from '../../dnswire/name.ts';

/** The value of the deepest zone that contains a name; undefined: none does. Costs a lookup per label. */
export function routeFor<T>(routes: ReadonlyMap<Name, T>, name: Name): T | undefined {
  for (let zone: Name | undefined = name; zone !== undefined; zone = parentOf(zone)) {
    const route = routes.get(zone);
    if (route !== undefined) return route;
  }
  return undefined;
}
