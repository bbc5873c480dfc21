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

/** Where the text of an edge begins, right of its first stem; the symbol of a problem stands before it. */
const textOffset = 12;
const glyphWidth = 20;

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
      <text x={fromX + textOffset + (state === 'ok' ? 0 : glyphWidth)} y={y - 6}>
        {text}
        {edgeWords[state]}
      </text>
      {state !== 'ok' && <EdgeGlyph state={edgeStates[state]} x={fromX + textOffset} y={y - 18} />}
    </g>
  );
}

function EdgeGlyph({ state, x, y }: { readonly state: State; readonly x: number; readonly y: number }) {
  return (
    <svg x={x} y={y} width="15" height="15" viewBox="0 0 16 16">
      <StateGlyph state={state} label="" />
    </svg>
  );
}
