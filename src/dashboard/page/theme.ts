// Light or dark, as the system or the person chooses.
import type { ReadonlySignal } from '@preact/signals';
import { signal } from '@preact/signals';

const themes = ['system', 'light', 'dark'] as const;
type ThemeName = (typeof themes)[number];

export interface Theme {
  readonly name: ReadonlySignal<ThemeName>;
  /** Chooses the next one. */
  readonly next: () => void;
}

const storageKey = 'fairlead-theme';

/** Applies the theme that was chosen last. */
export function followTheme(): Theme {
  const name = signal<ThemeName>(themes.find((each) => each === localStorage.getItem(storageKey)) ?? 'system');
  const apply = (): void => {
    if (name.value === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = name.value;
  };
  apply();
  return {
    name,
    next() {
      name.value = themes[(themes.indexOf(name.value) + 1) % themes.length] ?? 'system';
      localStorage.setItem(storageKey, name.value);
      apply();
    },
  };
}
