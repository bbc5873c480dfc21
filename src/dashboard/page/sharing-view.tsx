// The steps from an export to an import.
import type { ShareStep, Sharing } from '../view/details.ts';
import { pathOf, useData } from './api.ts';
import type { State } from './glyphs.tsx';
import { StateGlyph } from './glyphs.tsx';
import { Output } from './scrolled.tsx';

const shareStates: Readonly<Record<ShareStep['state'], State>> = {
  ok: 'ok',
  broken: 'error',
  unknown: 'warning',
  'not reached': 'idle',
};

/** The steps from the export to the import. They read all clusters, so they are requested only while the page is open. */
export function SharingView({ id, version }: { readonly id: string; readonly version: unknown }) {
  const { value, error, isLoading } = useData<Sharing>(pathOf('/api/sharing', { id }), version);
  return (
    <section class="card path" aria-labelledby="sharing">
      <header>
        <h2 id="sharing">From export to import</h2>
      </header>
      {value === undefined && isLoading && <p class="inset muted">Reading all clusters…</p>}
      {error !== undefined && <p class="inset muted">{error}</p>}
      {value !== undefined && (
        <>
          <ol class="compact">
            {value.steps.map(({ step, state, message }) => (
              <li key={step} class="step">
                <StateGlyph state={shareStates[state]} label={state} />
                <div>
                  <h3>{step}</h3>
                  <p>{message}</p>
                </div>
              </li>
            ))}
          </ol>
          <Output label="Explanation">{value.explanation}</Output>
        </>
      )}
    </section>
  );
}
