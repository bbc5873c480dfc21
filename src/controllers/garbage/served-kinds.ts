import type { Kind } from '../../api/kind.ts';
import { apiVersionOf, defineKind } from '../../api/kind.ts';
import { kindFor } from '../../api/kinds/registry.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { objectSchema } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import type { ServedKind } from '../../client/discovery.ts';
import { discover } from '../../client/discovery.ts';
import type { Informer } from '../../client/informer.ts';
import { unlessAborted } from '../../client/unless-aborted.ts';
import type { Caches } from '../caches.ts';

/** A kind whose objects can be deleted, and the cache of their metadata. */
export interface Collectable {
  readonly kind: Kind;
  readonly cache: Informer<ApiObject, string>;
}

export interface ServedKindsOptions {
  readonly client: Client;
  readonly caches: Caches;
  readonly onError: (error: unknown) => void;
  /** Called after every successful discovery. */
  readonly onSuccess?: () => void;
  readonly clock?: Clock;
  /** Interval of discovery; default 30 s. */
  readonly periodMs?: number;
}

/**
 * The kinds that the server serves, by periodic discovery, so that new CRDs are included. A kind is never removed, because
 * its objects still exist if discovery omits it temporarily.
 */
export class ServedKinds {
  readonly #options: ServedKindsOptions;
  readonly #clock: Clock;
  /** apiVersion and kind → kind, of every version. */
  readonly #named = new Map<string, Kind>();
  readonly #collectable = new Map<Kind, Collectable>();
  readonly #listeners = new Set<(found: Collectable) => void>();
  readonly #discovered = Promise.withResolvers<void>();
  #hasDiscovered = false;

  constructor(options: ServedKindsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Discovers kinds and starts their caches until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, onError, onSuccess, periodMs = 30_000 } = this.#options;
    while (!signal.aborted) {
      try {
        for (const served of await discover(client, signal)) this.#add(served);
        this.#hasDiscovered = true;
        this.#discovered.resolve();
        onSuccess?.();
      } catch (error) {
        if (signal.aborted) return;
        onError(error);
      }
      await sleep(this.#clock, this.#hasDiscovered ? periodMs : Math.min(periodMs, 1000), signal);
    }
  }

  /** Resolves when the caches of all served kinds have synced; rejects if the signal fires first. */
  async synced(signal: AbortSignal): Promise<void> {
    await unlessAborted(this.#discovered.promise, signal);
    await Promise.all(Array.from(this.#collectable.values(), ({ cache }) => cache.synced(signal)));
  }

  /** Whether the caches of all served kinds have synced. */
  get isComplete(): boolean {
    return this.#hasDiscovered && this.#collectable.values().every(({ cache }) => cache.hasSynced);
  }

  /** Calls `listener` for every known and every new kind. Returns a function that unsubscribes. */
  subscribe(listener: (found: Collectable) => void): () => void {
    this.#listeners.add(listener);
    for (const each of this.#collectable.values()) listener(each);
    return () => void this.#listeners.delete(listener);
  }

  /** The kind of a reference; undefined if the server does not serve it. */
  named(apiVersion: string, kind: string): Kind | undefined {
    return this.#named.get(`${apiVersion} ${kind}`);
  }

  #add(served: ServedKind): void {
    const name = `${apiVersionOf(served)} ${served.kind}`;
    // Some discovery entries have only subresources and no kind.
    if (served.kind === '' || this.#named.has(name)) return;
    const kind = kindFor(served.group, served.version, served.plural) ?? unknownKind(served);
    this.#named.set(name, kind);
    const isEvents = served.plural === 'events' && (served.group === '' || served.group === 'events.k8s.io');
    const isCollectable = ['delete', 'list', 'watch'].every((verb) => served.verbs.includes(verb));
    if (!served.isPreferred || !isCollectable || isEvents) return;
    const found = { kind, cache: this.#options.caches.of(kind) };
    this.#options.caches.run(found.cache);
    this.#collectable.set(kind, found);
    for (const listener of this.#listeners) listener(found);
  }
}

/** A kind that is read as metadata only. */
const unknownKind = ({ group, version, kind, plural, namespaced }: ServedKind): Kind =>
  defineKind({
    group,
    version,
    kind,
    plural,
    namespaced,
    custom: true,
    schema: objectSchema(kind, 'A kind with unknown fields beside its metadata.', {}, { open: true }),
    nameErrors: () => [],
  });
