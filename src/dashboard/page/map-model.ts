// What the map shows: computed again only for namespaces in which something changed.
import type { Band } from '../view/bands.ts';
import { bandOf, compareNames } from '../view/bands.ts';
import type { Filter } from '../view/filter.ts';
import { matcherOf } from '../view/filter.ts';
import type { Column, Detail, PlacedBand, PlaceOptions } from '../view/map-layout.ts';
import { placeBand } from '../view/map-layout.ts';
import type { NamespaceRows } from './store.ts';

/** What selects rows, besides their content. */
export interface MapSelection extends Filter {
  /** Empty for all. */
  readonly clusters: ReadonlySet<string>;
}

/** Remembers bands, and where things are in them. */
export class MapModel {
  /** Namespace → its band, as of a version of its rows. */
  readonly #bands = new Map<string, { readonly version: number; readonly band: Band | undefined }>();
  #selectionKey = '';
  readonly #placed = new WeakMap<Band, { readonly key: string; readonly placed: PlacedBand }>();

  /** The bands of the selected rows, by name. */
  bands(namespaces: ReadonlyMap<string, NamespaceRows>, selection: MapSelection): readonly Band[] {
    const key = JSON.stringify([selection.text, selection.namespace, selection.selection, ...selection.clusters]);
    if (key !== this.#selectionKey) this.#bands.clear();
    this.#selectionKey = key;
    const matches = matcherOf(selection);
    for (const name of this.#bands.keys()) if (!namespaces.has(name)) this.#bands.delete(name);
    for (const [name, { rows, version }] of namespaces) {
      if (this.#bands.get(name)?.version === version) continue;
      const selected = rows
        .values()
        .filter((row) => row.kind !== 'cluster' && matches(row))
        .filter(({ cluster }) => selection.clusters.size === 0 || selection.clusters.has(cluster));
      this.#bands.set(name, { version, band: bandOf(name, selected) });
    }
    return Array.from(this.#bands.values(), ({ band }) => band)
      .filter((band) => band !== undefined)
      .sort((left, right) => compareNames(left.namespace, right.namespace));
  }

  place(band: Band, options: PlaceOptions): PlacedBand {
    const key = keyOf(options.columns, options.detail, options.lost);
    const known = this.#placed.get(band);
    if (known?.key === key) return known.placed;
    const placed = placeBand(band, options);
    this.#placed.set(band, { key, placed });
    return placed;
  }
}

const keyOf = (columns: readonly Column[], detail: Detail, lost: ReadonlySet<string>): string =>
  [detail, ...columns.map(({ cluster, x, width }) => `${cluster} ${x} ${width}`), '', ...lost].join('|');
