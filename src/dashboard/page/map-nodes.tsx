// Services, imports and tiles on the map.
import type { ComponentChild } from 'preact';
import type { Band, CellCounts, Health } from '../view/bands.ts';
import { healthOf } from '../view/bands.ts';
import type { Box, MapNode, MapTile } from '../view/map-layout.ts';
import { cardLines, dotsPerRow, measures } from '../view/map-layout.ts';
import { linkToRow } from '../view/route.ts';
import type { EndpointCounts, ImportRow, ServiceRow } from '../view/rows.ts';
import { countText } from '../view/text.ts';
import { Icon, StateGlyph } from './glyphs.tsx';

const styleOf = ({ x, y, width, height }: Box) => ({
  transform: `translate(${x}px, ${y}px)`,
  width: `${width}px`,
  height: `${height}px`,
});

/** The name of a row, which screen readers read with its place. */
function NodeName({ row: { kind, name, namespace, cluster } }: { readonly row: ServiceRow | ImportRow }) {
  return (
    <>
      <span class="hidden">{kind === 'import' ? 'Import' : 'Service'}</span>
      <span class="name">{name}</span>
      <span class="hidden">
        in namespace {namespace} of cluster {cluster},
      </span>
    </>
  );
}

const totalOf = ({ ready, notReady, terminating }: EndpointCounts): number => ready + notReady + terminating;

/** A row as its name alone. */
export function NameNode({ node }: { readonly node: MapNode }) {
  const { row } = node;
  const health = healthOf(row);
  return (
    <a class={`node name-node ${row.kind} is-${health}`} href={linkToRow(row.id)} style={styleOf(node)}>
      {health === 'ok' ? <Icon name={iconOf(row)} /> : <StateGlyph state={health} label={health} />}
      <NodeName row={row} />
    </a>
  );
}

const iconOf = (row: ServiceRow | ImportRow) => {
  if (row.kind === 'import') return 'import';
  if (row.type === 'ExternalName') return 'outside';
  if (row.type === 'LoadBalancer') return 'balancer';
  return row.exported === undefined ? 'service' : 'export';
};

/** A row with everything that fits. */
export function CardNode({ node }: { readonly node: MapNode }) {
  const { row } = node;
  const health = healthOf(row);
  const lines = cardLines(row);
  return (
    <a class={`node card-node ${row.kind} is-${health}`} href={linkToRow(row.id)} style={styleOf(node)}>
      <span class="node-title">
        <StateGlyph state={health} label={health === 'ok' ? '' : health} />
        <NodeName row={row} />
        <span class="type">{row.kind === 'import' ? 'import' : row.type}</span>
      </span>
      <span class="node-line mono">{addressLine(row)}</span>
      {outsideLines(row).slice(0, lines.outside)}
      {row.kind === 'service' && row.endpoints !== undefined && (
        <span class="node-line">
          <EndpointDots counts={row.endpoints} />
          {endpointText(row.endpoints)}
        </span>
      )}
      {row.kind === 'import' &&
        row.sources.slice(0, lines.sources).map((source) => (
          <span key={source.cluster} class="node-line">
            <EndpointDots counts={source} />
            {source.ready} of {totalOf(source)} from {source.cluster}
          </span>
        ))}
      {lines.hasFinding && <span class={`node-line finding is-${health}`}>{row.findings[0]?.text}</span>}
    </a>
  );
}

function addressLine(row: ServiceRow | ImportRow): string {
  if (row.kind === 'service' && row.type === 'ExternalName') return `→ ${row.externalName}`;
  const ports = row.ports.map(({ port }) => port);
  const shown = ports.length > 3 ? [...ports.slice(0, 2), `+${ports.length - 2}`] : ports;
  return [row.addresses[0] ?? 'headless', shown.join(' ')].filter((word) => word !== '').join(' · ');
}

function outsideLines(row: ServiceRow | ImportRow): readonly ComponentChild[] {
  const external = row.kind === 'service' ? row.external : [];
  return [
    ...external.map((address) => (
      <span key={address} class="node-line outside">
        <Icon name="balancer" />
        <span class="mono">{address}</span>
        {row.ports.slice(0, 3).map(({ port, error }) => (
          <span key={port} class={`port ${error === undefined ? 'is-ok' : 'is-error'}`}>
            {error === undefined ? '✓' : '✗'} {port}
          </span>
        ))}
      </span>
    )),
    ...row.published.map((name) => (
      <span key={name} class="node-line outside">
        <Icon name="outside" />
        <span class="mono">{name}</span>
      </span>
    )),
  ];
}

function endpointText({ ready, notReady, terminating }: EndpointCounts): string {
  if (ready + notReady + terminating === 0) return 'no endpoints';
  return [
    `${ready} ready`,
    ...(notReady > 0 ? [`${notReady} not ready`] : []),
    ...(terminating > 0 ? [`${terminating} terminating`] : []),
  ].join(', ');
}

const maxDots = 10;

/** A dot for each endpoint: full if ready, a ring if not, a cross if terminating. */
function EndpointDots({ counts: { ready, notReady, terminating } }: { readonly counts: EndpointCounts }) {
  const all = [
    ...Array.from({ length: Math.min(ready, maxDots) }, () => 'ready' as const),
    ...Array.from({ length: Math.min(notReady, maxDots) }, () => 'not-ready' as const),
    ...Array.from({ length: Math.min(terminating, maxDots) }, () => 'terminating' as const),
  ].slice(0, maxDots);
  if (all.length === 0) return null;
  const pitch = 10;
  return (
    <svg class="dots" width={all.length * pitch} height="10" aria-hidden="true">
      {all.map((state, index) =>
        state === 'terminating' ? (
          <path key={index} class={state} d={`m${index * pitch + 1.5} 2 6 6m0-6-6 6`} />
        ) : (
          <circle key={index} class={state} cx={index * pitch + 4.5} cy="5" r={state === 'ready' ? 4 : 3.2} />
        ),
      )}
    </svg>
  );
}

interface TileProps {
  readonly tile: MapTile;
  readonly band: Band;
  readonly open: () => void;
}

/** A namespace in one cluster: its numbers, and a mark for each Service and import. */
export function Tile({ tile, band, open }: TileProps) {
  const counts = band.counts.get(tile.cluster);
  if (counts === undefined) return null;
  const { services, imports, ready, notReady, terminating, healths } = counts;
  const errors = healths.filter((health) => health === 'error').length;
  const warnings = healths.filter((health) => health === 'warning').length;
  const total = ready + notReady + terminating;
  const worst: Health = errors > 0 ? 'error' : warnings > 0 ? 'warning' : 'ok';
  return (
    <button class={`node tile is-${worst}`} type="button" style={styleOf(tile)} onClick={open}>
      <span class="tile-title">
        <strong>{countText(services, 'Service')}</strong>
        {imports > 0 && <span>{countText(imports, 'import')}</span>}
        <Problems level="error" count={errors} />
        <Problems level="warning" count={warnings} />
        <span class="muted">
          {ready.toLocaleString('en')}/{total.toLocaleString('en')} ready
        </span>
        <span class="hidden">in cluster {tile.cluster}: open</span>
      </span>
      <Marks healths={healths} width={tile.width - 24} />
    </button>
  );
}

function Problems({ level, count }: { readonly level: 'error' | 'warning'; readonly count: number }) {
  if (count === 0) return null;
  return (
    <span class={`problems is-${level}`}>
      <StateGlyph state={level} label={`${level}s:`} /> {count.toLocaleString('en')}
    </span>
  );
}

const marks: Readonly<Record<Health, (x: number, y: number) => string>> = {
  ok: (x, y) => `M${x} ${y + 1}h6v6h-6Z`,
  warning: (x, y) => `M${x + 3} ${y}l4 7h-8Z`,
  error: (x, y) => `M${x + 3} ${y}l4 4-4 4-4-4Z`,
};

/** One path for each health, so that thousands of marks cost little. */
function Marks({ healths, width }: { readonly healths: CellCounts['healths']; readonly width: number }) {
  const perRow = dotsPerRow(width + 24);
  const shown = healths.slice(0, perRow * measures.maxDotRows);
  const paths: Record<Health, string> = { ok: '', warning: '', error: '' };
  for (const [index, health] of shown.entries()) {
    paths[health] += marks[health]((index % perRow) * measures.dot, Math.floor(index / perRow) * measures.dot);
  }
  return (
    <svg class="marks" width={width} height={Math.ceil(shown.length / perRow) * measures.dot} aria-hidden="true">
      {Object.entries(paths).map(([health, path]) => (
        <path key={health} class={`is-${health}`} d={path} />
      ))}
    </svg>
  );
}
