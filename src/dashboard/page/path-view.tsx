// The steps of a connection.
import { useState } from 'preact/hooks';
import type { Path, Step } from '../view/details.ts';
import type { State } from './glyphs.tsx';
import { StateGlyph } from './glyphs.tsx';

const stepStates: Readonly<Record<Step['state'], State>> = { ok: 'ok', broken: 'error', unknown: 'idle' };
const stepWords: Readonly<Record<Step['state'], string>> = { ok: 'works', broken: 'broken', unknown: 'not known' };

/** The steps of a connection, each with its reasons. */
export function PathView({ path }: { readonly path: Path }) {
  return (
    <section class="card path" aria-label={`Connection to ${path.name}`}>
      <header>
        <h2>
          Connection to <span class="mono break">{path.name}</span>
        </h2>
      </header>
      <ol>
        {path.steps.map((step) => (
          <li key={step.title} class={`step is-${step.state}`}>
            <StateGlyph state={stepStates[step.state]} label={stepWords[step.state]} />
            <div>
              <h3>{step.title}</h3>
              <p>{step.summary}</p>
              <Lines lines={step.lines} />
              {step.why.length > 0 && (
                <ul class="why">
                  {step.why.map((text) => (
                    <li key={text}>{text}</li>
                  ))}
                </ul>
              )}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** More at once would hide the next step. */
const firstLines = 6;

function Lines({ lines }: Pick<Step, 'lines'>) {
  const [isAll, showAll] = useState(false);
  if (lines.length === 0) return null;
  const shown = isAll ? lines : lines.slice(0, firstLines);
  return (
    <div class="lines">
      <ul>
        {shown.map(({ text, note, isUsed }) => (
          <li key={`${text} ${note}`} class={isUsed ? '' : 'unused'}>
            <code>{text}</code>
            {note !== '' && <span class="muted">{note}</span>}
          </li>
        ))}
      </ul>
      {lines.length > shown.length && (
        <button type="button" onClick={() => showAll(true)}>
          Show all {lines.length}
        </button>
      )}
    </div>
  );
}
