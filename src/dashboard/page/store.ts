// The rows that the server sent, and what changed since the page was opened.
import type { ReadonlySignal } from '@preact/signals';
import { computed, signal } from '@preact/signals';
import { changesOf } from '../view/changes.ts';
import { importId, parseId, serviceId } from '../view/ids.ts';
import type { Overview } from '../view/overview.ts';
import { overviewOf } from '../view/overview.ts';
import type { Delta, EventRow, Level, Row } from '../view/rows.ts';

/** A line of the timeline. */
export interface TimelineEntry {
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly cluster: string;
  /** As in `Service shop/web`. */
  readonly object: string;
  /** The row, if it is about one. */
  readonly id?: string;
  readonly level: Level | 'ok';
  /** The reason of an Event. */
  readonly reason?: string;
  readonly text: string;
}

/** The rows of a namespace in all clusters. */
export interface NamespaceRows {
  readonly rows: Map<string, Row>;
  /** Raised by every change. */
  version: number;
}

/** Limits memory. */
const maxEntries = 500;

/** Rows by id. Signals fire at most once per frame. */
export class Store {
  readonly rows = new Map<string, Row>();
  /** Namespace → its rows; clusters are in ''. */
  readonly namespaces = new Map<string, NamespaceRows>();
  /** Fires after changes of rows. */
  readonly version: ReadonlySignal<number>;
  /** The number of rows that arrived, until all did. */
  readonly arriving: ReadonlySignal<number | undefined>;
  /** The newest first. */
  readonly timeline: ReadonlySignal<readonly TimelineEntry[]>;
  readonly overview: ReadonlySignal<Overview>;
  readonly #version = signal(0);
  readonly #arriving = signal<number | undefined>(0);
  readonly #timeline = signal<readonly TimelineEntry[]>([]);
  /** Rows that arrived since a reset. They replace the others when all have arrived, so that nothing vanishes meanwhile. */
  #incoming: Map<string, Row> | undefined;
  #entries: TimelineEntry[] = [];
  #isPublishing = false;
  #nextKey = 0;

  constructor() {
    this.version = this.#version;
    this.arriving = this.#arriving;
    this.timeline = this.#timeline;
    this.overview = computed(() => {
      void this.#version.value;
      return overviewOf(this.rows.values());
    });
  }

  /** Applies a message of the stream. */
  apply(delta: Delta): void {
    if (delta.isReset === true) this.#incoming = new Map();
    if (this.#incoming === undefined) {
      for (const row of delta.set ?? []) this.#put(row.id, row);
      for (const id of delta.gone ?? []) this.#put(id, undefined);
    } else {
      for (const row of delta.set ?? []) this.#incoming.set(row.id, row);
      for (const id of delta.gone ?? []) this.#incoming.delete(id);
    }
    for (const event of delta.events ?? []) this.#enter(entryOfEvent(event));
    if (delta.isComplete === true) this.#replaceAll();
    this.#publishSoon();
  }

  #replaceAll(): void {
    const incoming = this.#incoming ?? new Map<string, Row>();
    this.#incoming = undefined;
    const isFirst = this.rows.size === 0;
    for (const id of this.rows.keys()) if (!incoming.has(id)) this.#put(id, undefined);
    for (const [id, row] of incoming) this.#put(id, row, isFirst);
    this.#arriving.value = undefined;
  }

  #put(id: string, row: Row | undefined, isFirst = false): void {
    const before = this.rows.get(id);
    if (!isFirst) {
      for (const change of changesOf(before, row)) this.#enter({ ...change, ...placeOf(id), at: Date.now() });
    }
    const { namespace } = parseId(id);
    const own = this.#rowsOf(namespace);
    if (row === undefined) {
      this.rows.delete(id);
      own.rows.delete(id);
    } else {
      this.rows.set(id, row);
      own.rows.set(id, row);
    }
    own.version++;
    if (own.rows.size === 0) this.namespaces.delete(namespace);
  }

  #rowsOf(namespace: string): NamespaceRows {
    let own = this.namespaces.get(namespace);
    if (own === undefined) this.namespaces.set(namespace, (own = { rows: new Map(), version: this.#nextKey++ }));
    return own;
  }

  #enter(entry: Omit<TimelineEntry, 'key'>): void {
    this.#entries.push({ ...entry, key: String(this.#nextKey++) });
    if (this.#entries.length > 2 * maxEntries) this.#entries = this.#entries.slice(-maxEntries);
  }

  #publishSoon(): void {
    if (this.#isPublishing) return;
    this.#isPublishing = true;
    requestAnimationFrame(() => {
      this.#isPublishing = false;
      this.#version.value++;
      if (this.#incoming !== undefined && this.rows.size === 0) this.#arriving.value = this.#incoming.size;
      const newest = this.#entries.slice(-maxEntries).toReversed();
      if (newest[0]?.key !== this.#timeline.peek()[0]?.key) this.#timeline.value = newest;
    });
  }
}

function placeOf(id: string): Pick<TimelineEntry, 'cluster' | 'object'> {
  const { kind, cluster, namespace, name } = parseId(id);
  const noun = { cluster: 'Cluster', service: 'Service', import: 'Import' }[kind] ?? '';
  return { cluster, object: name === '' ? `${noun} ${cluster}` : `${noun} ${namespace}/${name}` };
}

const entryOfEvent = ({ cluster, object, isWarning, reason, text, at }: EventRow): Omit<TimelineEntry, 'key'> => {
  const [kind, name = ''] = object.split(' ');
  return {
    at: Date.parse(at) || Date.now(),
    cluster,
    object,
    ...(kind === 'Service' || kind === 'ServiceExport' ? { id: serviceId(cluster, name) } : {}),
    ...(kind === 'ServiceImport' || kind === 'ImportedService' ? { id: importId(cluster, name) } : {}),
    level: isWarning ? 'warning' : 'info',
    reason,
    text,
  };
};
