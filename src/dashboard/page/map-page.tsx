// The map: every Service, import and connection between clusters.
import { useState } from 'preact/hooks';
import type { Band } from '../view/bands.ts';
import { compareNames } from '../view/bands.ts';
import type { Column, Detail, StackedBand } from '../view/map-layout.ts';
import { columnsIn, detailFor, nodesIn, stack, visibleBands } from '../view/map-layout.ts';
import type { Route } from '../view/route.ts';
import { linkTo, listText } from '../view/route.ts';
import type { ClusterRow } from '../view/rows.ts';
import { countText } from '../view/text.ts';
import type { State } from './glyphs.tsx';
import { Icon, StateGlyph } from './glyphs.tsx';
import { EdgeView } from './map-edges.tsx';
import { MapModel } from './map-model.ts';
import { CardNode, NameNode, Tile } from './map-nodes.tsx';
import { change, settingsOf } from './map-settings.ts';
import { Toolbar } from './map-toolbar.tsx';
import type { Store } from './store.ts';
import type { View } from './viewport.ts';
import { useViewport } from './viewport.ts';

interface MapProps {
  readonly store: Store;
  readonly route: Route;
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

/** Names and addresses that no row has, such as those of Pods, can be entered too. */
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
