// The filter of rows.
import type { ImportRow, ServiceRow } from './rows.ts';

/** What the map can be limited to. */
export const selections = {
  all: 'Everything',
  problems: 'Errors and warnings',
  errors: 'Errors',
  conflicts: 'Conflicts',
  unready: 'Without ready endpoints',
  shared: 'Exported or imported',
  outside: 'Reachable from outside',
} as const;
export type Selection = keyof typeof selections;

export interface Filter {
  /** Words, all of which must match: part of a name, address or host name, a DNS name in the cluster, or `label=value`. */
  readonly text: string;
  /** '' for all. */
  readonly namespace: string;
  readonly selection: Selection;
}

type Matcher = (row: ServiceRow | ImportRow) => boolean;

/** The function that selects rows. */
export function matcherOf({ text, namespace, selection }: Filter): Matcher {
  const words = text
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '')
    .map(wordMatcher);
  const isSelected = selectors[selection];
  return (row) =>
    (namespace === '' || row.namespace === namespace) && isSelected(row) && words.every((matches) => matches(row));
}

const selectors: Readonly<Record<Selection, Matcher>> = {
  all: () => true,
  problems: ({ findings }) => findings.some(({ level }) => level !== 'info'),
  errors: ({ findings }) => findings.some(({ level }) => level === 'error'),
  conflicts: ({ findings }) => findings.some(({ reason }) => reason === 'Conflict'),
  unready: ({ findings }) => findings.some(({ reason }) => reason === 'NoReadyEndpoints' || reason === 'NoEndpoints'),
  shared: (row) => row.kind === 'import' || row.exported !== undefined,
  outside: (row) =>
    row.published.length > 0 ||
    (row.kind === 'service' && (row.type === 'LoadBalancer' || row.type === 'NodePort' || row.external.length > 0)),
};

function wordMatcher(word: string): Matcher {
  const [label = '', value] = word.split('=', 2);
  if (value !== undefined) {
    return (row) =>
      row.kind === 'service' &&
      Object.entries(row.labels).some(([name, own]) => name.toLowerCase() === label && own.toLowerCase() === value);
  }
  const inCluster = nameInCluster(word);
  if (inCluster !== undefined) {
    return ({ name, namespace }) => name === inCluster.name && namespace === inCluster.namespace;
  }
  return (row) => textsOf(row).some((each) => each.toLowerCase().includes(word));
}

/** The object of a DNS name such as `_http._tcp.web.shop.svc.cluster.local`. */
function nameInCluster(word: string): { readonly name: string; readonly namespace: string } | undefined {
  const labels = word.split('.');
  const svc = labels.indexOf('svc');
  const [name, namespace] = [labels[svc - 2], labels[svc - 1]];
  return name === undefined || namespace === undefined ? undefined : { name, namespace };
}

const textsOf = (row: ServiceRow | ImportRow): readonly string[] => [
  row.name,
  `${row.namespace}/${row.name}`,
  ...row.addresses,
  ...row.published,
  ...(row.kind === 'service' ? [...row.external, row.externalName ?? ''] : []),
];
