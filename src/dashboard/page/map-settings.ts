// The settings of the map.
import type { Selection } from '../view/filter.ts';
import { selections } from '../view/filter.ts';
import type { Route } from '../view/route.ts';
import { linkTo, listIn } from '../view/route.ts';

/** How much is drawn, as choices for people. */
export const details = { auto: 'Auto', tiles: 'Namespaces', names: 'Names', cards: 'Cards' } as const;
type DetailChoice = keyof typeof details;

/** The settings of the map, which are in its address. */
export function settingsOf({ query }: Route) {
  const selection = query.get('show') ?? '';
  const detail = query.get('detail') ?? '';
  return {
    text: query.get('q') ?? '',
    namespace: query.get('namespace') ?? '',
    selection: selection in selections ? (selection as Selection) : 'all', // checked
    detail: detail in details ? (detail as DetailChoice) : 'auto', // checked
    clusters: new Set(listIn(query.get('clusters'))),
    open: new Set(listIn(query.get('open'))),
  };
}

/** Changes settings in the address; those that are typed replace the entry of the history. */
export function change(route: Route, settings: Readonly<Record<string, string>>): void {
  const query = new Map([...route.query, ...Object.entries(settings)]);
  location.replace(linkTo({ page: 'map', query }));
}

export type MapSettings = ReturnType<typeof settingsOf>;
