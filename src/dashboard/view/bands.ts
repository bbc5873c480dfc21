// The rows of one namespace in all clusters, as the map groups them.
import type { EndpointCounts, ImportRow, Row, ServiceRow } from './rows.ts';

export type Health = 'ok' | 'warning' | 'error';

/** A Service or an import in one cluster, or both of one name. */
export interface Cell {
  readonly service?: ServiceRow;
  readonly imported?: ImportRow;
}

/** What has one name in the clusters. */
export interface Entry {
  readonly name: string;
  /** Cluster → its objects of that name. */
  readonly cells: ReadonlyMap<string, Cell>;
  /** Whether a cluster exports or imports it. */
  readonly isShared: boolean;
  readonly health: Health;
}

/** The numbers of a namespace in one cluster. */
export interface CellCounts extends EndpointCounts {
  readonly services: number;
  readonly imports: number;
  /** The health of each Service and import, in the order of their names. */
  readonly healths: readonly Health[];
}

export interface Band {
  readonly namespace: string;
  /** Shared ones first, then by name. */
  readonly entries: readonly Entry[];
  /** Cluster → its numbers. */
  readonly counts: ReadonlyMap<string, CellCounts>;
  readonly health: Health;
}

/** Groups rows of one namespace; undefined if there are none. Services that were derived from imports belong to these. */
export function bandOf(namespace: string, rows: Iterable<Row>): Band | undefined {
  const byName = new Map<string, Map<string, { service?: ServiceRow; imported?: ImportRow }>>();
  for (const row of rows) {
    if (row.kind === 'cluster' || (row.kind === 'service' && row.derivedFrom !== undefined)) continue;
    let cells = byName.get(row.name);
    if (cells === undefined) byName.set(row.name, (cells = new Map()));
    let cell = cells.get(row.cluster);
    if (cell === undefined) cells.set(row.cluster, (cell = {}));
    if (row.kind === 'service') cell.service = row;
    else cell.imported = row;
  }
  if (byName.size === 0) return undefined;
  const entries = Array.from(byName, ([name, cells]) => entryOf(name, cells)).sort(inOrder);
  return { namespace, entries, counts: countsOf(entries), health: worst(entries.map(({ health }) => health)) };
}

function entryOf(name: string, cells: ReadonlyMap<string, Cell>): Entry {
  const all = [...cells.values()];
  return {
    name,
    cells,
    isShared: all.some(({ service, imported }) => imported !== undefined || service?.exported !== undefined),
    health: worst(all.flatMap(({ service, imported }) => [service, imported].map(healthOf))),
  };
}

/** The worst level of the findings of a row. */
export function healthOf(row: Pick<Row, 'findings'> | undefined): Health {
  const levels = row?.findings.map(({ level }) => level) ?? [];
  return levels.includes('error') ? 'error' : levels.includes('warning') ? 'warning' : 'ok';
}

const worst = (healths: readonly Health[]): Health =>
  healths.includes('error') ? 'error' : healths.includes('warning') ? 'warning' : 'ok';

/** Orders names as people do: `web-2` before `web-10`. */
export const compareNames: (left: string, right: string) => number = new Intl.Collator('en', { numeric: true }).compare;

const inOrder = (left: Entry, right: Entry): number =>
  Number(right.isShared) - Number(left.isShared) || compareNames(left.name, right.name);

function countsOf(entries: readonly Entry[]): ReadonlyMap<string, CellCounts> {
  const counts = new Map<string, { -readonly [Key in keyof CellCounts]: CellCounts[Key] } & { healths: Health[] }>();
  for (const { cells } of entries) {
    for (const [cluster, { service, imported }] of cells) {
      let own = counts.get(cluster);
      if (own === undefined) {
        own = { services: 0, imports: 0, ready: 0, notReady: 0, terminating: 0, healths: [] };
        counts.set(cluster, own);
      }
      if (service !== undefined) own.services++;
      if (imported !== undefined) own.imports++;
      own.ready += service?.endpoints?.ready ?? 0;
      own.notReady += service?.endpoints?.notReady ?? 0;
      own.terminating += service?.endpoints?.terminating ?? 0;
      own.healths.push(worst([healthOf(service), healthOf(imported)]));
    }
  }
  return counts;
}
