// The search and the filters of the map.
import { useEffect, useRef } from 'preact/hooks';
import { compareNames } from '../view/bands.ts';
import { selections } from '../view/filter.ts';
import type { Route } from '../view/route.ts';
import { listText } from '../view/route.ts';
import type { ClusterRow } from '../view/rows.ts';
import { Icon } from './glyphs.tsx';
import type { MapSettings } from './map-settings.ts';
import { change, details } from './map-settings.ts';
import type { Store } from './store.ts';

interface ToolbarProps {
  readonly store: Store;
  readonly route: Route;
  readonly settings: MapSettings;
  readonly clusters: readonly ClusterRow[];
}

/** Search, filters and detail. */
export function Toolbar({ route, settings, clusters, store }: ToolbarProps) {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (event.key !== '/' || isTyping) return;
      event.preventDefault();
      search.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  const namespaces = [...store.namespaces.keys()].filter((name) => name !== '').toSorted(compareNames);
  const isShown = (name: string): boolean => settings.clusters.size === 0 || settings.clusters.has(name);
  const toggleCluster = (name: string): void => {
    const shown = new Set(clusters.map(({ cluster }) => cluster).filter(isShown)).symmetricDifference(new Set([name]));
    change(route, { clusters: shown.size === clusters.length ? '' : listText([...shown]) });
  };
  return (
    <form class="toolbar" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="field search">
        <Icon name="search" />
        <span class="hidden">Search</span>
        <input
          ref={search}
          type="search"
          value={settings.text}
          placeholder="Name, address or label=value"
          aria-keyshortcuts="/"
          spellcheck={false}
          onInput={({ currentTarget }) => change(route, { q: currentTarget.value })}
        />
      </label>
      <label class="field">
        <span class="hidden">Namespace</span>
        <select
          value={settings.namespace}
          onChange={({ currentTarget }) => change(route, { namespace: currentTarget.value })}
        >
          <option value="">All namespaces</option>
          {namespaces.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span class="hidden">Show</span>
        <select
          value={settings.selection}
          onChange={({ currentTarget }) => change(route, { show: currentTarget.value })}
        >
          {Object.entries(selections).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {clusters.length > 1 && (
        <fieldset class="choices">
          <legend class="hidden">Clusters</legend>
          {clusters.map(({ cluster }) => (
            <label key={cluster}>
              <input type="checkbox" checked={isShown(cluster)} onChange={() => toggleCluster(cluster)} />
              {cluster}
            </label>
          ))}
        </fieldset>
      )}
      <fieldset class="choices detail">
        <legend class="hidden">Detail</legend>
        {Object.entries(details).map(([name, title]) => (
          <label key={name}>
            <input
              type="radio"
              name="detail"
              checked={settings.detail === name}
              onChange={() => change(route, { detail: name === 'auto' ? '' : name })}
            />
            {title}
          </label>
        ))}
      </fieldset>
    </form>
  );
}
