import { EmbeddedStore } from '../embedded.ts';
import type { Journal } from '../journal.ts';
import type { StoreLimits } from '../limits.ts';
import type { Store } from '../store.ts';

const nowhere: Journal = {
  append: () => Promise.resolve(),
  compact: () => Promise.resolve(),
  size: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

/** A store that is gone when the process is. */
export const openMemoryStore = (limits: StoreLimits = {}): Store => new EmbeddedStore(nowhere, limits);
