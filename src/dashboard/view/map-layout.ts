// Where things are on the map: clusters are columns, namespaces are bands across them, and what has one name in several
// clusters has one line. Edges between clusters therefore never cross.
//
//     ┌ east ─────────────┐   ┌ west ─────────────┐
//     │ shop              │   │                   │   band
//     │ ●──────────▼──────┼───┼─●──────────▼      │   edge: exports of cart, to its imports
//     │ [cart]  [import]  │   │ [cart]  [import]  │   line
//     │ [db]    [web]     │   │ [web]             │
//     └───────────────────┘   └───────────────────┘
import type { Band, Cell, Entry } from './bands.ts';
import type { ImportRow, ServiceRow } from './rows.ts';

/** How much of a band is drawn: numbers, names, or everything. */
export type Detail = 'tiles' | 'names' | 'cards';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A Service or an import. */
export interface MapNode extends Box {
  readonly row: ServiceRow | ImportRow;
}

/** The numbers of a band in one cluster. */
export interface MapTile extends Box {
  readonly cluster: string;
}

export type EdgeState = 'ok' | 'pending' | 'conflict' | 'lost';

/** The connection of exports to imports. */
export interface MapEdge {
  readonly key: string;
  readonly state: EdgeState;
  readonly fromX: number;
  readonly toX: number;
  readonly y: number;
  /** Down to the objects. */
  readonly stems: readonly { readonly kind: 'export' | 'import'; readonly x: number; readonly y: number }[];
  /** Such as `shared by east and west`. */
  readonly text: string;
}

/** One band, relative to its own top. */
export interface PlacedBand {
  readonly band: Band;
  readonly detail: Detail;
  readonly height: number;
  readonly nodes: readonly MapNode[];
  readonly tiles: readonly MapTile[];
  readonly edges: readonly MapEdge[];
}

export interface Column {
  readonly cluster: string;
  readonly x: number;
  readonly width: number;
}

/** Distances in pixels. */
export const measures = {
  gutter: 28,
  padding: 14,
  gap: 12,
  bandHead: 44,
  bandFoot: 16,
  /** The same for bands of tiles, so that many namespaces fit into the window. */
  tileHead: 36,
  tileFoot: 8,
  minColumn: 300,
  minCard: 250,
  minName: 168,
  name: 32,
  dot: 9,
  maxDotRows: 6,
} as const;

/** The columns of the clusters within a width; together they are wider if it is too small. */
export function columnsIn(clusters: readonly string[], width: number): readonly Column[] {
  const { gutter, minColumn } = measures;
  const own = Math.floor((width - gutter * (clusters.length - 1)) / Math.max(1, clusters.length));
  // On a narrow screen a column fills it, but for the edge of the next one.
  const least = Math.min(minColumn, width - (clusters.length > 1 ? gutter : 0));
  const column = Math.max(own, least);
  return clusters.map((cluster, index) => ({ cluster, x: index * (column + gutter), width: column }));
}

/** The detail at which a number of Services and imports is still readable. */
export function detailFor(nodes: number): Detail {
  return nodes <= 80 ? 'cards' : nodes <= 400 ? 'names' : 'tiles';
}

/** The number of Services and imports of a band. */
export function nodesIn({ counts }: Band): { readonly services: number; readonly imports: number } {
  const sum = { services: 0, imports: 0 };
  for (const { services, imports } of counts.values()) {
    sum.services += services;
    sum.imports += imports;
  }
  return sum;
}

export interface PlaceOptions {
  readonly columns: readonly Column[];
  readonly detail: Detail;
  /** Clusters that do not answer. */
  readonly lost: ReadonlySet<string>;
}

/** Places what is in a band. */
export function placeBand(band: Band, { columns, detail, lost }: PlaceOptions): PlacedBand {
  const base = { band, detail, nodes: [], tiles: [], edges: [] };
  switch (detail) {
    case 'tiles':
      return { ...base, ...placeTiles(band, columns), edges: summaryEdge(band, measures.tileHead, { columns, lost }) };
    case 'names':
      return { ...base, ...placeNames(band, columns), edges: summaryEdge(band, measures.bandHead, { columns, lost }) };
    case 'cards':
      return { ...base, ...placeCards(band, columns, lost) };
  }
}

/** How many things of a least width fit beside each other, and their width. */
function gridIn(width: number, least: number): { readonly count: number; readonly width: number } {
  const inner = width - 2 * measures.padding;
  const count = Math.max(1, Math.floor((inner + measures.gap) / (least + measures.gap)));
  return { count, width: Math.floor((inner - measures.gap * (count - 1)) / count) };
}

const inColumn = ({ x }: Column, width: number, index: number): number =>
  x + measures.padding + index * (width + measures.gap);

// Tiles

/** How many dots fit in a row of a tile of this width. */
export const dotsPerRow = (width: number): number => Math.max(1, Math.floor((width - 24) / measures.dot));

function placeTiles({ counts }: Band, columns: readonly Column[]): Pick<PlacedBand, 'tiles' | 'height'> {
  const width = (columns[0]?.width ?? 0) - 2 * measures.padding;
  const most = Math.max(...Array.from(counts.values(), ({ healths }) => healths.length));
  const rows = Math.min(measures.maxDotRows, Math.ceil(most / dotsPerRow(width)));
  const height = 44 + rows * measures.dot;
  const tiles = columns.flatMap((column) =>
    counts.has(column.cluster)
      ? [{ cluster: column.cluster, x: column.x + measures.padding, y: measures.tileHead, width, height }]
      : [],
  );
  return { tiles, height: measures.tileHead + height + measures.tileFoot };
}

// Names

function placeNames({ entries }: Band, columns: readonly Column[]): Pick<PlacedBand, 'nodes' | 'height'> {
  const grid = gridIn(columns[0]?.width ?? 0, measures.minName);
  const pitch = measures.name + 8;
  let lines = 0;
  const nodes = columns.flatMap((column) => {
    const rows = entries.flatMap(({ cells }) => rowsOf(cells.get(column.cluster)));
    lines = Math.max(lines, Math.ceil(rows.length / grid.count));
    return rows.map((row, index) => ({
      row,
      x: inColumn(column, grid.width, index % grid.count),
      y: measures.bandHead + Math.floor(index / grid.count) * pitch,
      width: grid.width,
      height: measures.name,
    }));
  });
  return { nodes, height: measures.bandHead + lines * pitch + measures.bandFoot };
}

const rowsOf = ({ service, imported }: Cell = {}): readonly (ServiceRow | ImportRow)[] =>
  [service, imported].filter((row) => row !== undefined);

// Cards

/** Lines of a card below its title and its address. */
export interface CardLines {
  readonly outside: number;
  readonly sources: number;
  readonly hasEndpoints: boolean;
  readonly hasFinding: boolean;
}

const maxOutside = 3;
const maxSources = 4;

/** The lines that the card of a row has. */
export function cardLines(row: ServiceRow | ImportRow): CardLines {
  const hasFinding = row.findings.length > 0;
  if (row.kind === 'import') {
    return {
      outside: Math.min(maxOutside, row.published.length),
      sources: Math.min(maxSources, row.sources.length),
      hasEndpoints: false,
      hasFinding,
    };
  }
  const outside = row.external.length + row.published.length;
  return { outside: Math.min(maxOutside, outside), sources: 0, hasEndpoints: row.endpoints !== undefined, hasFinding };
}

const line = 21;

function cardHeight(row: ServiceRow | ImportRow): number {
  const { outside, sources, hasEndpoints, hasFinding } = cardLines(row);
  return 20 + 2 * line + line * (outside + sources + Number(hasEndpoints) + Number(hasFinding));
}

/** Space above a line for the edge of each entry on it. */
const strip = 30;

function placeCards(
  { entries }: Band,
  columns: readonly Column[],
  lost: ReadonlySet<string>,
): Pick<PlacedBand, 'nodes' | 'edges' | 'height'> {
  const grid = gridIn(columns[0]?.width ?? 0, measures.minCard);
  const nodes: MapNode[] = [];
  const edges: MapEdge[] = [];
  let y: number = measures.bandHead;
  // A Service and its import are beside each other if two cards fit, otherwise below each other.
  const perEntry = grid.count >= 2 ? 2 : 1;
  const perLine = Math.max(1, Math.floor(grid.count / perEntry));
  const shared = entries.filter(({ isShared }) => isShared);
  for (const group of chunks(shared, perLine)) {
    const top = y + strip * group.length;
    let bottom = top;
    for (const [slot, entry] of group.entries()) {
      const own: MapNode[] = [];
      for (const column of columns) {
        let below = top;
        for (const row of rowsOf(entry.cells.get(column.cluster))) {
          const index = slot * perEntry + (perEntry === 2 && row.kind === 'import' ? 1 : 0);
          const height = cardHeight(row);
          own.push({ row, x: inColumn(column, grid.width, index), y: below, width: grid.width, height });
          if (perEntry === 1) below += height + measures.gap;
          bottom = Math.max(bottom, (own.at(-1)?.y ?? 0) + height);
        }
      }
      nodes.push(...own);
      const edge = edgeOf(entry, own, { y: y + strip * slot + strip - 10, lost });
      if (edge !== undefined) edges.push(edge);
    }
    y = bottom + measures.gap;
  }
  const local = entries.filter(({ isShared }) => !isShared);
  const lists = columns.map(({ cluster }) => local.flatMap(({ cells }) => rowsOf(cells.get(cluster))));
  const lines = Math.max(0, ...lists.map((rows) => Math.ceil(rows.length / grid.count)));
  for (let index = 0; index < lines; index++) {
    let height = 0;
    for (const [at, column] of columns.entries()) {
      for (const [slot, row] of (lists[at] ?? []).slice(index * grid.count, (index + 1) * grid.count).entries()) {
        const own = cardHeight(row);
        height = Math.max(height, own);
        nodes.push({ row, x: inColumn(column, grid.width, slot), y, width: grid.width, height: own });
      }
    }
    y += height + measures.gap;
  }
  return { nodes, edges, height: y + measures.bandFoot - measures.gap };
}

function chunks<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}

/** Stems of a Service leave at its left, those of an import arrive there. */
const stemOffset = 22;

function edgeOf(
  { name, cells }: Entry,
  nodes: readonly MapNode[],
  { y, lost }: { readonly y: number; readonly lost: ReadonlySet<string> },
): MapEdge | undefined {
  const stems = nodes.flatMap(({ row, x, y: top }) => {
    if (row.kind === 'service' && row.exported === undefined) return [];
    return [{ kind: row.kind === 'import' ? ('import' as const) : ('export' as const), x: x + stemOffset, y: top }];
  });
  if (stems.length === 0) return undefined;
  const exporters = Array.from(cells).filter(([, { service }]) => service?.exported !== undefined);
  const xs = stems.map(({ x }) => x);
  return {
    key: name,
    state: edgeState(
      [...cells.values()],
      exporters.some(([cluster]) => lost.has(cluster)),
    ),
    fromX: Math.min(...xs),
    toX: Math.max(...xs),
    y,
    stems,
    text: exporters.length === 0 ? 'imported' : `exported by ${exporters.map(([cluster]) => cluster).join(', ')}`,
  };
}

function edgeState(cells: readonly Cell[], isSourceLost: boolean): EdgeState {
  const states = cells.map(({ service }) => service?.exported);
  if (states.includes('conflict') || states.includes('invalid')) return 'conflict';
  if (isSourceLost) return 'lost';
  return states.includes('pending') ? 'pending' : 'ok';
}

/** One edge for all that a band shares. */
function summaryEdge(
  { namespace, entries }: Band,
  head: number,
  { columns, lost }: Pick<PlaceOptions, 'columns' | 'lost'>,
): readonly MapEdge[] {
  const shared = entries.filter(({ isShared }) => isShared);
  const used = columns.filter(({ cluster }) => shared.some(({ cells }) => isIn(cells.get(cluster))));
  const [first, last] = [used[0], used.at(-1)];
  if (first === undefined || last === undefined || first === last) return [];
  const states = shared.map(({ cells }) =>
    edgeState(
      [...cells.values()],
      [...cells].some(([cluster, { service }]) => service?.exported !== undefined && lost.has(cluster)),
    ),
  );
  const conflicts = states.filter((state) => state === 'conflict').length;
  const state = (['conflict', 'lost', 'pending'] as const).find((each) => states.includes(each)) ?? 'ok';
  const y = head - 12;
  return [
    {
      key: `all of ${namespace}`,
      state,
      fromX: first.x + first.width / 2,
      toX: last.x + last.width / 2,
      y,
      stems: used.map(({ x, width }) => ({ kind: 'import', x: x + width / 2, y: head })),
      text: `${shared.length} shared${conflicts === 0 ? '' : `, ${conflicts} in conflict`}`,
    },
  ];
}

const isIn = (cell: Cell | undefined): boolean => cell?.imported !== undefined || cell?.service?.exported !== undefined;

// The whole map

/** A band and where it begins. */
export interface StackedBand {
  readonly y: number;
  readonly placed: PlacedBand;
}

/** Puts bands below each other. */
export function stack(bands: readonly PlacedBand[]): {
  readonly bands: readonly StackedBand[];
  readonly height: number;
} {
  let y = 0;
  const stacked = bands.map((placed) => {
    const at = { y, placed };
    y += placed.height;
    return at;
  });
  return { bands: stacked, height: y };
}

/** The bands that are visible between two heights, found without reading the others. */
export function visibleBands(bands: readonly StackedBand[], top: number, bottom: number): readonly StackedBand[] {
  let [low, high] = [0, bands.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const band = bands[middle];
    if (band !== undefined && band.y + band.placed.height < top) low = middle + 1;
    else high = middle;
  }
  const end = bands.findIndex(({ y }, index) => index >= low && y > bottom);
  return bands.slice(low, end === -1 ? undefined : end);
}
