// Addresses within the page: what follows `#` in its URL.
import { decoded, parseId } from './ids.ts';

/** A page, and the object that it shows. */
export interface Route {
  readonly page: 'overview' | 'map' | 'service' | 'import' | 'ask' | 'plan' | 'timeline';
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  /** Further settings, such as filters. */
  readonly query: ReadonlyMap<string, string>;
}

const pages: ReadonlySet<string> = new Set(['overview', 'map', 'service', 'import', 'ask', 'plan', 'timeline']);

/** Parses the part of a URL after `#`; anything unknown is the overview. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [page = '', cluster = '', namespace = '', name = ''] = path.split('/').map(decoded);
  return {
    page: pages.has(page) ? (page as Route['page']) : 'overview', // checked
    cluster,
    namespace,
    name,
    query: new Map(new URLSearchParams(query)),
  };
}

/** The link to a route; empty settings are left out. */
export function linkTo({ page, cluster = '', namespace = '', name = '', query = new Map() }: RouteParts): string {
  const words = [page, cluster, namespace, name].map(encodeURIComponent);
  while (words.at(-1) === '') words.pop();
  const settings = new URLSearchParams([...query].filter(([, value]) => value !== '')).toString();
  return `#/${words.join('/')}${settings === '' ? '' : `?${settings}`}`;
}

type RouteParts = Pick<Route, 'page'> & Partial<Omit<Route, 'page'>>;

/** Names as one setting, and back. */
export const listText = (names: readonly string[]): string => names.map(encodeURIComponent).join(',');
export const listIn = (text = ''): readonly string[] => (text === '' ? [] : text.split(',').map(decoded));

/** The link to a row, by its id. */
export function linkToRow(id: string): string {
  const { kind, cluster, namespace, name } = parseId(id);
  if (kind === 'cluster') return linkTo({ page: 'map', query: new Map([['clusters', listText([cluster])]]) });
  return linkTo({ page: kind === 'import' ? 'import' : 'service', cluster, namespace, name });
}
