import { configMapKind } from '../../../api/kinds/core/configmap/kind.ts';
import type { Change, Entry } from '../../../store/store.ts';
import type { HistoryLimits } from '../history.ts';
import { layoutOf, serialise } from '../layout.ts';
import { ResourceCache } from '../resource-cache.ts';
import type { Watcher } from '../watchers.ts';

export const ampleLimits: HistoryLimits = { maxEvents: 1000, maxBytes: 1 << 20, maxAgeMs: 60_000 };

/** A cache of ConfigMaps that only the test feeds. */
export const cacheOf = (floor = 0, limits: HistoryLimits = ampleLimits): ResourceCache =>
  new ResourceCache(configMapKind, floor, limits);

/** An entry as the store holds it; `path` is `namespace/name`. */
export function entryOf(path: string, revision: number, data: Record<string, string> = {}): Entry {
  const [namespace = '', name = ''] = path.split('/');
  const object = { metadata: { name, namespace }, data };
  const value = serialise(layoutOf(configMapKind), object);
  return { key: `/registry/configmaps/${path}`, value, revision, created: revision };
}

/** The change of a key to `entry`, or its deletion. */
export const changeOf = (path: string, revision: number, entry?: Entry, previous?: Entry): Change => ({
  key: `/registry/configmaps/${path}`,
  revision,
  entry,
  previous,
});

/** A watcher that records its notifications, such as `new shop/a@5`. */
export function recorder(cache: ResourceCache, scope: string, exact = false): Watcher & { readonly log: string[] } {
  const log: string[] = [];
  return {
    scope,
    exact,
    log,
    notify({ key, revision, item, previous }) {
      const what = item === undefined ? 'gone' : previous === undefined ? 'new' : 'changed';
      log.push(`${what} ${key.slice(cache.prefix.length)}@${revision}`);
    },
    progress: (revision) => void log.push(`@${revision}`),
  };
}
