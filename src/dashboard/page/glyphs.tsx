// Symbols. States differ by shape as well as by colour.
import type { JSX } from 'preact';
import type { Level } from '../view/rows.ts';

export type State = Level | 'ok' | 'idle';

const shapes: Readonly<Record<State, JSX.Element>> = {
  ok: (
    <>
      <circle cx="8" cy="8" r="7" />
      <path d="M4.8 8.3 7 10.5l4.2-4.6" class="mark" />
    </>
  ),
  warning: (
    <>
      <path d="M8 1.2 15.4 14.4H.6Z" />
      <path d="M8 6v4M8 12v.2" class="mark" />
    </>
  ),
  error: (
    <>
      <path d="M5 .9h6L15.1 5v6L11 15.1H5L.9 11V5Z" />
      <path d="m5.4 5.4 5.2 5.2m0-5.2-5.2 5.2" class="mark" />
    </>
  ),
  info: (
    <>
      <circle cx="8" cy="8" r="6.4" class="outline" />
      <path d="M8 7.4v3.8M8 4.8V5" class="stem" />
    </>
  ),
  idle: <circle cx="8" cy="8" r="5.6" class="outline dashed" />,
};

const words: Readonly<Record<State, string>> = {
  ok: 'OK',
  warning: 'Warning',
  error: 'Error',
  info: 'Information',
  idle: 'Unknown',
};

/** The symbol of a state; `label` replaces its word for screen readers, and '' hides it from them. */
export function StateGlyph({ state, label = words[state] }: { readonly state: State; readonly label?: string }) {
  const hidden = label === '' ? { 'aria-hidden': true } : { role: 'img' as const, 'aria-label': label };
  return (
    <svg class={`glyph state-${state}`} viewBox="0 0 16 16" {...hidden}>
      {shapes[state]}
    </svg>
  );
}

const icons = {
  overview: 'M2.5 2.5h4.6v5H2.5zM8.9 2.5h4.6v3H8.9zM2.5 9.3h4.6v4.2H2.5zM8.9 7.3h4.6v6.2H8.9z',
  map: 'M3.5 4.7a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4Zm9 10a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4Zm0-8a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4ZM3.5 4.7v4.6c0 2.2 1.6 3.7 3.7 3.7h3.6M5.2 3h3.2c1 0 1.6.6 2.4 2',
  ask: 'M5.6 6a2.5 2.5 0 1 1 3.6 2.2C8.4 8.7 8 9.2 8 10.2M8 12.8v.1M8 15A7 7 0 1 0 8 1a7 7 0 0 0 0 14Z',
  plan: 'M3.5 1.5h9v13h-9zM5.8 5h4.4M5.8 8h4.4M5.8 11h2.4',
  timeline: 'M8 4.5V8l2.6 1.6M8 15A7 7 0 1 0 8 1a7 7 0 0 0 0 14Z',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14.3 14.3',
  system: 'M8 14.5a6.5 6.5 0 1 0 0-13zM8 1.5a6.5 6.5 0 0 0 0 13',
  light:
    'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8 13 13M13 3l-1.2 1.2M4.2 11.8 3 13',
  dark: 'M13.6 9.8A6 6 0 0 1 6.2 2.4a6 6 0 1 0 7.4 7.4Z',
  chevron: 'm6 3.5 4.5 4.5L6 12.5',
  service: 'M8 1.8 13.6 5v6L8 14.2 2.4 11V5ZM8 8l5.4-3M8 8 2.6 5M8 8v6',
  import: 'M14 8H5M8.4 4.2 4.6 8l3.8 3.8M2 2v12',
  export: 'M2 8h9M7.6 4.2 11.4 8l-3.8 3.8M14 2v12',
  outside: 'M9 2.5h4.5V7M13.2 2.8 7 9M11.5 9.5v4h-9v-9h4',
  balancer: 'M8 1.5v3.2M8 4.7 3 11M8 4.7 13 11M8 4.7V11M1.5 11h3v3.2h-3zM6.5 11h3v3.2h-3zM11.5 11h3v3.2h-3z',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  close: 'm3.5 3.5 9 9m0-9-9 9',
} as const;

export type IconName = keyof typeof icons;

/** A symbol that only decorates: the text beside it has the same meaning. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={icons[name]} />
    </svg>
  );
}
