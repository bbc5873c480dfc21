// The map: every Service, import and connection between clusters.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Band } from '../view/bands.ts';
import { compareNames } from '../view/bands.ts';
import type { Selection } from '../view/filter.ts';
import { selections } from '../view/filter.ts';
import type { Column, Detail, MapEdge, StackedBand } from '../view/map-layout.ts';
import { columnsIn, detailFor, nodesIn, stack, visibleBands } from '../view/map-layout.ts';
import type { Route } from '../view/route.ts';
import { linkTo, listIn, listText } from '../view/route.ts';
import type { ClusterRow } from '../view/rows.ts';
import { countText } from '../view/text.ts';
import type { State } from './glyphs.tsx';
import { Icon, StateGlyph } from './glyphs.tsx';
import { MapModel } from './map-model.ts';
import { CardNode, NameNode, Tile } from './map-nodes.tsx';
import type { Store } from './store.ts';

interface MapProps {
  readonly store: Store;
  readonly route: Route;
}

const details = { auto: 'Auto', tiles: 'Namespaces', names: 'Names', cards: 'Cards' } as const;
type DetailChoice = keyof typeof details;

/** The settings of the map, which are in its address. */
function settingsOf({ query }: Route) {
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
function change(route: Route, settings: Readonly<Record<string, string>>): void {
  const query = new Map([...route.query, ...Object.entries(settings)]);
  location.replace(linkTo({ page: 'map', query }));
}

export function MapPage({ store, route }: MapProps) {
  void store.version.value; // rendered again when rows change
  const [model] = useState(() => new MapModel());
  const [view, scroller] = useViewport();
  const settings = settingsOf(route);
  const clusters = clusterRows(store);
  const shown = clusters.filter(({ cluster }) => settings.clusters.size === 0 || settings.clusters.has(cluster));
  const columns = columnsIn(
    shown.map(({ cluster }) => cluster),
    Math.max(240, view.width - 2),
  );
  const bands = model.bands(store.namespaces, settings);
  const { services, imports } = totalOf(bands);
  const auto = detailFor(services + imports);
  const lost = new Set(clusters.filter(({ state }) => state === 'lost').map(({ cluster }) => cluster));
  const detailOf = (band: Band): Detail => {
    if (settings.detail !== 'auto') return settings.detail;
    return auto === 'tiles' && settings.open.has(band.namespace) ? detailOfOpen(band) : auto;
  };
  const { bands: stacked, height } = stack(
    bands.map((band) => model.place(band, { columns, detail: detailOf(band), lost })),
  );
  const last = columns.at(-1);
  const width = last === undefined ? 0 : last.x + last.width;
  const margin = 500;
  const visible = visibleBands(stacked, view.top - margin, view.top + view.height + margin);
  const toggle = (namespace: string): void => {
    const open = settings.open.symmetricDifference(new Set([namespace]));
    change(route, { open: listText([...open]) });
  };
  return (
    <div class="map-page">
      <h1 class="hidden">Map</h1>
      <Toolbar route={route} settings={settings} clusters={clusters} store={store} />
      <p class="map-summary" role="status">
        {services + imports === 0
          ? nothingMatches(settings.text)
          : `${countText(services, 'Service')} and ${countText(imports, 'import')} in ${countText(bands.length, 'namespace')}`}
        {auto === 'tiles' && settings.detail === 'auto' && ' · select a namespace to see its Services'}
      </p>
      <div class="map" ref={scroller} tabIndex={0} role="region" aria-label="Map of clusters">
        <div class="map-heads" style={{ width: `${width}px` }}>
          {columns.map((column) => (
            <ClusterHead
              key={column.cluster}
              column={column}
              row={clusters.find(({ cluster }) => cluster === column.cluster)}
            />
          ))}
        </div>
        <div class="map-body" style={{ width: `${width}px`, height: `${height}px` }}>
          {columns.map(({ cluster, x, width: own }) => (
            <div
              key={cluster}
              class={`map-column${lost.has(cluster) ? ' is-lost' : ''}`}
              style={{ left: `${x}px`, width: `${own}px` }}
            />
          ))}
          {visible.map((each) => (
            <BandView
              key={each.placed.band.namespace}
              at={each}
              width={width}
              view={view}
              canToggle={auto === 'tiles' && settings.detail === 'auto'}
              toggle={toggle}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

/** Names and addresses that no row has, such as those of Pods, can still be asked about. */
const nothingMatches = (text: string) => (
  <>
    Nothing matches.{' '}
    {text !== '' && <a href={linkTo({ page: 'ask', query: new Map([['q', text]]) })}>Ask the clusters about {text}</a>}
  </>
);

function totalOf(bands: readonly Band[]): ReturnType<typeof nodesIn> {
  const all = bands.map(nodesIn);
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  return { services: sum(all.map(({ services }) => services)), imports: sum(all.map(({ imports }) => imports)) };
}

/** A namespace that a person opened has its names at least. */
function detailOfOpen(band: Band): Detail {
  const { services, imports } = nodesIn(band);
  return detailFor(services + imports) === 'cards' ? 'cards' : 'names';
}

const clusterRows = (store: Store): readonly ClusterRow[] =>
  [...(store.namespaces.get('')?.rows.values() ?? [])]
    .filter((row) => row.kind === 'cluster')
    .toSorted((left, right) => compareNames(left.cluster, right.cluster));

/** What of the map is on the screen. */
interface View {
  readonly width: number;
  readonly height: number;
  readonly top: number;
}

function useViewport(): readonly [View, { current: HTMLDivElement | null }] {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View>({ width: 960, height: 800, top: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    let isPending = false;
    const read = (): void => {
      isPending = false;
      const next = { width: element.clientWidth, height: element.clientHeight, top: element.scrollTop };
      setView((old) =>
        old.width === next.width && old.height === next.height && Math.abs(old.top - next.top) < 50 ? old : next,
      );
    };
    const soon = (): void => {
      if (!isPending) requestAnimationFrame(read);
      isPending = true;
    };
    read();
    const observer = new ResizeObserver(soon);
    observer.observe(element);
    element.addEventListener('scroll', soon, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', soon);
    };
  }, []);
  return [view, scroller];
}

interface ToolbarProps extends MapProps {
  readonly settings: ReturnType<typeof settingsOf>;
  readonly clusters: readonly ClusterRow[];
}

function Toolbar({ route, settings, clusters, store }: ToolbarProps) {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (event.key !== '/' || isTyping) return;
      event.preventDefault();
      search.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  const namespaces = [...store.namespaces.keys()].filter((name) => name !== '').toSorted(compareNames);
  const isShown = (name: string): boolean => settings.clusters.size === 0 || settings.clusters.has(name);
  const toggleCluster = (name: string): void => {
    const shown = new Set(clusters.map(({ cluster }) => cluster).filter(isShown)).symmetricDifference(new Set([name]));
    change(route, { clusters: shown.size === clusters.length ? '' : listText([...shown]) });
  };
  return (
    <form class="toolbar" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="field search">
        <Icon name="search" />
        <span class="hidden">Search</span>
        <input
          ref={search}
          type="search"
          value={settings.text}
          placeholder="Name, address or label=value"
          aria-keyshortcuts="/"
          spellcheck={false}
          onInput={({ currentTarget }) => change(route, { q: currentTarget.value })}
        />
      </label>
      <label class="field">
        <span class="hidden">Namespace</span>
        <select
          value={settings.namespace}
          onChange={({ currentTarget }) => change(route, { namespace: currentTarget.value })}
        >
          <option value="">All namespaces</option>
          {namespaces.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span class="hidden">Show</span>
        <select
          value={settings.selection}
          onChange={({ currentTarget }) => change(route, { show: currentTarget.value })}
        >
          {Object.entries(selections).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {clusters.length > 1 && (
        <fieldset class="choices">
          <legend class="hidden">Clusters</legend>
          {clusters.map(({ cluster }) => (
            <label key={cluster}>
              <input type="checkbox" checked={isShown(cluster)} onChange={() => toggleCluster(cluster)} />
              {cluster}
            </label>
          ))}
        </fieldset>
      )}
      <fieldset class="choices detail">
        <legend class="hidden">Detail</legend>
        {Object.entries(details).map(([name, title]) => (
          <label key={name}>
            <input
              type="radio"
              name="detail"
              checked={settings.detail === name}
              onChange={() => change(route, { detail: name === 'auto' ? '' : name })}
            />
            {title}
          </label>
        ))}
      </fieldset>
    </form>
  );
}

const clusterStates: Readonly<Record<ClusterRow['state'], State>> = { ok: 'ok', lost: 'error', reading: 'idle' };

function ClusterHead({ column, row }: { readonly column: Column; readonly row: ClusterRow | undefined }) {
  const { cluster, x, width } = column;
  const state = row?.state ?? 'reading';
  return (
    <header class={`map-head is-${state}`} style={{ left: `${x}px`, width: `${width}px` }}>
      <StateGlyph state={clusterStates[state]} label={state} />
      <h2>{cluster}</h2>
      <span class="muted">{state === 'lost' ? 'does not answer' : (row?.version ?? '')}</span>
    </header>
  );
}

interface BandProps {
  readonly at: StackedBand;
  readonly width: number;
  readonly view: View;
  readonly canToggle: boolean;
  readonly toggle: (namespace: string) => void;
}

function BandView({ at: { y, placed }, width, view, canToggle, toggle }: BandProps) {
  const { band, height, detail, nodes, tiles, edges } = placed;
  const { namespace } = band;
  const [top, bottom] = [view.top - y - 300, view.top - y + view.height + 300];
  const title = (
    <>
      <span class="muted">namespace</span> {namespace}
    </>
  );
  return (
    <section
      class="band"
      aria-label={`Namespace ${namespace}`}
      style={{ transform: `translateY(${y}px)`, width: `${width}px`, height: `${height}px` }}
    >
      <h3>
        {canToggle ? (
          <button class="band-title" type="button" aria-expanded={detail !== 'tiles'} onClick={() => toggle(namespace)}>
            <Icon name="chevron" />
            {title}
          </button>
        ) : (
          <span class="band-title">{title}</span>
        )}
      </h3>
      <svg class="edges" width={width} height={height} aria-hidden="true">
        {edges
          .filter(({ y: at, stems }) => at < bottom && Math.max(at, ...stems.map((stem) => stem.y)) > top)
          .map((edge) => (
            <EdgeView key={edge.key} edge={edge} />
          ))}
      </svg>
      {tiles.map((tile) => (
        <Tile key={tile.cluster} tile={tile} band={band} open={() => toggle(namespace)} />
      ))}
      {nodes
        .filter((node) => node.y < bottom && node.y + node.height > top)
        .map((node) =>
          detail === 'cards' ? <CardNode key={node.row.id} node={node} /> : <NameNode key={node.row.id} node={node} />,
        )}
    </section>
  );
}

const edgeStates: Readonly<Record<MapEdge['state'], State>> = {
  ok: 'ok',
  pending: 'idle',
  conflict: 'error',
  lost: 'warning',
};
const edgeWords: Readonly<Record<MapEdge['state'], string>> = {
  ok: '',
  pending: ', not complete yet',
  conflict: ', conflict',
  lost: ', source lost',
};

/** Where the text of an edge begins, right of its first stem. */
const textOffset = 12;

function EdgeView({ edge }: { readonly edge: MapEdge }) {
  const { state, fromX, toX, y, stems, text } = edge;
  return (
    <g class={`edge edge-${state}`}>
      <path d={`M${fromX} ${y}H${toX}`} />
      {stems.map(({ kind, x, y: end }) => (
        <g key={`${x} ${end}`}>
          <path d={`M${x} ${y}V${kind === 'import' ? end - 5 : end}`} />
          {kind === 'import' ? (
            <path class="tip" d={`m${x - 4.5} ${end - 7} 4.5 6 4.5-6Z`} />
          ) : (
            <circle cx={x} cy={y} r="4" />
          )}
        </g>
      ))}
      <text x={fromX + textOffset} y={y - 5}>
        {text}
        {edgeWords[state]}
      </text>
      {state !== 'ok' && <EdgeGlyph state={edgeStates[state]} x={glyphX(edge)} y={y - 8} />}
    </g>
  );
}

/** Between the first two stems, where the line is free. */
function glyphX({ fromX, toX, stems }: MapEdge): number {
  const [first = fromX, second = toX] = stems.map(({ x }) => x).toSorted((left, right) => left - right);
  return (first + second) / 2 - 8;
}

function EdgeGlyph({ state, x, y }: { readonly state: State; readonly x: number; readonly y: number }) {
  return (
    <svg x={x} y={y} width="16" height="16">
      <StateGlyph state={state} label="" />
    </svg>
  );
}
