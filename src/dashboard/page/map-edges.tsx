// Edges between clusters.
import type { MapEdge } from '../view/map-layout.ts';
import type { State } from './glyphs.tsx';
import { StateGlyph } from './glyphs.tsx';

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

/** The line from exports to imports, with its state in words. */
export function EdgeView({ edge }: { readonly edge: MapEdge }) {
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
