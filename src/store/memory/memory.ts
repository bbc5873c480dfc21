import { EmbeddedStore } from '../embedded.ts';
import type { Journal } from '../embedded.ts';
import type { StoreLimits } from '../limits.ts';
import type { Store } from '../store.ts';

const noJournal: Journal = {
  append: () => Promise.resolve(),
  compact: () => Promise.resolve(),
  size: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

/** Opens a store without persistence. */
export const openMemoryStore = (limits: StoreLimits = {}): Store => new EmbeddedStore(noJournal, limits);
