// The rows of all clusters, and subscriptions to their changes.
import type { Logger } from 'pino';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { setTimeout } from '../../machine/timers.ts';
import { parseId } from '../view/ids.ts';
import type { EventRow, Row } from '../view/rows.ts';
import type { ShownCluster } from './cluster-feed.ts';
import { ClusterFeed } from './cluster-feed.ts';
import type { Rights } from './rights.ts';

export interface BoardOptions {
  readonly clusters: readonly ShownCluster[];
  readonly log: Pick<Logger, 'debug' | 'warn'>;
  readonly clock?: Clock;
  /** Changes within this time are delivered together; default 100 ms. */
  readonly windowMs?: number;
}

/** The changes of one window. */
export interface Changes {
  readonly ids: ReadonlySet<string>;
  readonly events: readonly EventRow[];
}

/** The rights of a viewer in a namespace of a cluster. */
export type RightsIn = (cluster: string, namespace: string) => Rights;

/** Events of one window beyond this number are left out. */
const maxEvents = 100;

/** Watches all clusters until it is disposed of. */
export class Board implements AsyncDisposable {
  readonly feeds: readonly ClusterFeed[];
  readonly #byName: ReadonlyMap<string, ClusterFeed>;
  readonly #windowMs: number;
  readonly #listeners = new Set<(changes: Changes) => void>();
  #ids = new Set<string>();
  #events: EventRow[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor({ clusters, log, clock = systemClock, windowMs = 100 }: BoardOptions) {
    this.#windowMs = windowMs;
    this.feeds = clusters.map(
      (cluster) =>
        new ClusterFeed({
          cluster,
          log,
          clock,
          changed: (id) => {
            if (this.#listeners.size > 0) this.#ids.add(id);
            this.#schedule();
          },
          happened: (event) => {
            if (this.#listeners.size > 0 && this.#events.length < maxEvents) this.#events.push(event);
            this.#schedule();
          },
        }),
    );
    this.#byName = new Map(this.feeds.map((feed) => [feed.cluster.name, feed]));
  }

  feed(cluster: string): ClusterFeed | undefined {
    return this.#byName.get(cluster);
  }

  /** Calls `listener` with the changes of each window. The returned function unsubscribes. */
  subscribe(listener: (changes: Changes) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The row with an id. */
  row(id: string, rightsIn: RightsIn): Row | undefined {
    const { kind, cluster, namespace, name } = parseId(id);
    const feed = this.#byName.get(cluster);
    if (feed === undefined) return undefined;
    if (kind === 'cluster') return feed.clusterRow();
    const key = `${namespace}/${name}`;
    const rights = rightsIn(cluster, namespace);
    return kind === 'service' ? feed.serviceRow(key, rights) : feed.importRow(key, rights);
  }

  /** All rows that a viewer may see. */
  *rows(rightsIn: RightsIn): Iterable<Row> {
    for (const feed of this.feeds) {
      for (const id of feed.ids()) {
        const row = this.row(id, rightsIn);
        if (row !== undefined) yield row;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
    clearTimeout(this.#timer);
    await Promise.all(this.feeds.map((feed) => feed[Symbol.asyncDispose]()));
  }

  #schedule(): void {
    if (this.#listeners.size === 0) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const changes = { ids: this.#ids, events: this.#events };
      this.#ids = new Set();
      this.#events = [];
      for (const listener of this.#listeners) listener(changes);
    }, this.#windowMs);
  }
}
