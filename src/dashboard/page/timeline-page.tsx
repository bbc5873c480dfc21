// What changed since the page was opened, and Events.
import { useState } from 'preact/hooks';
import { linkToRow } from '../view/route.ts';
import { timeText } from '../view/text.ts';
import { StateGlyph } from './glyphs.tsx';
import type { Store, TimelineEntry } from './store.ts';

const choices = { all: 'Everything', problems: 'Problems', events: 'Events' } as const;
type Choice = keyof typeof choices;

const selectors: Readonly<Record<Choice, (entry: TimelineEntry) => boolean>> = {
  all: () => true,
  problems: ({ level }) => level === 'error' || level === 'warning',
  events: ({ reason }) => reason !== undefined,
};

export function TimelinePage({ store }: { readonly store: Store }) {
  const [choice, choose] = useState<Choice>('all');
  const entries = store.timeline.value.filter(selectors[choice]);
  return (
    <div class="timeline narrow">
      <div class="object-head">
        <h1>Timeline</h1>
        <fieldset class="choices detail">
          <legend class="hidden">Show</legend>
          {Object.entries(choices).map(([name, title]) => (
            <label key={name}>
              <input type="radio" name="show" checked={choice === name} onChange={() => choose(name as Choice)} />
              {title}
            </label>
          ))}
        </fieldset>
      </div>
      <p class="muted">Changes since this page was opened, the newest first.</p>
      {entries.length === 0 && <p class="card empty">Nothing has changed yet.</p>}
      <TimelineList entries={entries} />
    </div>
  );
}

/** Entries, the newest first. */
export function TimelineList({ entries }: { readonly entries: readonly TimelineEntry[] }) {
  if (entries.length === 0) return null;
  return (
    <ol class="card entries">
      {entries.map((entry) => (
        <Entry key={entry.key} entry={entry} />
      ))}
    </ol>
  );
}

function Entry({ entry: { at, cluster, object, id, level, reason, text } }: { readonly entry: TimelineEntry }) {
  return (
    <li>
      <time class="mono muted">{timeText(at)}</time>
      <StateGlyph state={level} />
      <div>
        <p>
          {id === undefined ? object : <a href={linkToRow(id)}>{object}</a>} <span class="chip">{cluster}</span>{' '}
          {reason !== undefined && <span class="mono muted">{reason}</span>}
        </p>
        <p class="message">{text}</p>
      </div>
    </li>
  );
}
