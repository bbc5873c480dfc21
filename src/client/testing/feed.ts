// A minimal API server with one kind, one namespace and all revisions until compaction.

import { failure } from '../../api/errors.ts';
import type { ConfigMap } from '../../api/kinds/core/configmap/schema.ts';
import type { ApiRequest, Query, Transport } from '../transport.ts';

interface Logged {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ConfigMap;
  readonly revision: number;
}

/** An in-memory server of ConfigMaps for tests of informers. */
export class Feed {
  readonly #objects = new Map<string, ConfigMap>();
  readonly #log: Logged[] = [];
  readonly #waiting = new Set<() => void>();
  #revision = 1;
  #oldest = 1;
  #uid = 0;

  /** Creates or changes an object. */
  put(name: string, value: string): void {
    const old = this.#objects.get(name);
    const revision = ++this.#revision;
    const metadata = {
      name,
      namespace: 'default',
      uid: old?.metadata.uid ?? `uid-${++this.#uid}`,
      resourceVersion: String(revision),
    };
    const object: ConfigMap = { metadata, data: { value } };
    this.#objects.set(name, object);
    this.#append({ type: old === undefined ? 'ADDED' : 'MODIFIED', object, revision });
  }

  remove(name: string): void {
    const old = this.#objects.get(name);
    if (old === undefined) return;
    const revision = ++this.#revision;
    this.#objects.delete(name);
    const object = { ...old, metadata: { ...old.metadata, resourceVersion: String(revision) } };
    this.#append({ type: 'DELETED', object, revision });
  }

  /** Drops old revisions. */
  compact(): void {
    this.#oldest = this.#revision;
    this.#log.length = 0;
  }

  items(): readonly ConfigMap[] {
    return [...this.#objects.values()];
  }

  transport(options: { readonly hasWatchList: boolean }): Transport {
    return {
      request: async ({ query = {} }) => ({ status: 200, headers: {}, body: JSON.stringify(this.#page(query)) }),
      stream: (call) => this.#stream(call, options.hasWatchList),
      [Symbol.dispose]: () => {},
    };
  }

  #append(entry: Logged): void {
    this.#log.push(entry);
    for (const wake of this.#waiting) wake();
  }

  #page({ limit = Infinity, continue: token = 0 }: Query): unknown {
    const items = this.items();
    const end = Number(token) + Number(limit);
    // Pages are not consistent here, so tests must use a single page.
    const more = end < items.length && token === 0 ? { continue: String(end) } : {};
    return { metadata: { resourceVersion: String(this.#revision), ...more }, items: items.slice(Number(token), end) };
  }

  async *#stream({ query = {}, signal }: ApiRequest, hasWatchList: boolean): AsyncGenerator<string> {
    const isBeginning = query['sendInitialEvents'] === true;
    if (isBeginning && !hasWatchList) {
      throw failure({ code: 422, reason: 'Invalid', message: 'sendInitialEvents is forbidden for watch' });
    }
    let revision = isBeginning ? this.#revision : Number(query['resourceVersion']);
    if (isBeginning) {
      const items = this.items();
      for (const object of items) yield line('ADDED', object);
      const metadata = { resourceVersion: String(revision), annotations: { 'k8s.io/initial-events-end': 'true' } };
      yield line('BOOKMARK', { metadata });
    }
    for (;;) {
      signal?.throwIfAborted();
      if (revision < this.#oldest) {
        yield line('ERROR', failure({ code: 410, reason: 'Expired', message: `too old: ${revision}` }).status);
        return;
      }
      const next = this.#log.find((entry) => entry.revision > revision);
      if (next === undefined) await this.#change(signal);
      else {
        yield line(next.type, next.object);
        revision = next.revision;
      }
    }
  }

  #change(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal?.addEventListener('abort', wake);
    });
  }
}

const line = (type: string, object: unknown): string => JSON.stringify({ type, object });
