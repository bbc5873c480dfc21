import type { Logger } from 'pino';
import type { Kind } from '../api/kind.ts';
import type { ApiObject } from '../api/metadata.ts';
import type { Client } from './client.ts';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import type { InformerOptions } from './informer.ts';
import { Informer } from './informer.ts';
import type { OptionalInformerOptions } from './optional-informer.ts';
import { OptionalInformer } from './optional-informer.ts';
import { hasStatusCode } from './transport.ts';
import { WatchErrors } from './watch-errors.ts';

export interface InformersOptions {
  readonly client: Client;
  readonly log: Pick<Logger, 'debug' | 'warn'>;
  readonly clock?: Clock;
}

/** An Informer or an OptionalInformer. */
export type AnyInformer = Pick<Informer<ApiObject>, 'run'>;

interface ServedInformerOptions<T extends ApiObject, Index extends string> extends Omit<
  InformerOptions<T, Index>,
  'clock' | 'onBegin' | 'onError'
> {
  /** Called when the server no longer serves the kind. */
  readonly onNotFound?: () => void;
}

interface Entry {
  readonly plural: string;
  readonly synced: (signal?: AbortSignal) => Promise<void>;
  readonly silentMs: () => number | undefined;
  isSynced: boolean;
  running: Promise<void> | undefined;
}

/**
 * The informers of a part. They stop together, share the reporting of watch errors and of readiness, and do not cache
 * managedFields.
 */
export class Informers {
  readonly #options: InformersOptions;
  readonly #clock: Clock;
  readonly #errors: WatchErrors;
  readonly #entries = new Map<AnyInformer, Entry>();
  readonly #stop = new AbortController();
  #connection = new AbortController();

  constructor(options: InformersOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#errors = new WatchErrors(options.log, this.#clock);
  }

  /** Creates an informer of a kind that every server serves. */
  of<T extends ApiObject, Index extends string = never>(
    kind: Kind<T>,
    { onNotFound, ...options }: ServedInformerOptions<T, Index> = {},
  ): Informer<T, Index> {
    const watch = watchOf(kind.plural);
    const informer = new Informer<T, Index>(this.#options.client, kind, {
      withoutManagedFields: true,
      ...options,
      clock: this.#clock,
      onError: (error) => {
        if (hasStatusCode(error, 404)) onNotFound?.();
        this.#errors.failed(watch, error);
      },
      onBegin: () => this.#errors.recovered(watch),
    });
    return this.#add(informer, kind.plural, (signal) => informer.synced(signal));
  }

  /** Creates an informer of a kind that a server may lack, given as versions in order of preference. */
  optional<T extends ApiObject, Index extends string = never>(
    kinds: readonly Kind<T>[],
    options: Omit<OptionalInformerOptions<T, Index>, 'clock' | 'onError'> = {},
  ): OptionalInformer<T, Index> {
    const plural = kinds[0]?.plural ?? '';
    const informer = new OptionalInformer<T, Index>(this.#options.client, kinds, {
      trim: withoutManagedFields,
      ...options,
      clock: this.#clock,
      onError: (error) => this.#errors.failed(watchOf(plural), error),
    });
    return this.#add(informer, plural, (signal) => informer.settled(signal));
  }

  /** Starts the given informers; all of them if none are given. */
  start(...informers: readonly AnyInformer[]): void {
    for (const informer of informers.length === 0 ? this.#entries.keys() : informers) {
      const entry = this.#entries.get(informer);
      if (entry !== undefined) entry.running ??= this.#run(informer);
    }
  }

  /** Opens all watches again and keeps the cached objects, for a part whose connection was interrupted. */
  reopen(): void {
    this.#connection.abort(new Error('the connection was interrupted'));
    this.#connection = new AbortController();
  }

  /** Resolves when all started informers have synced; rejects if the signal fires first. */
  async synced(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#started().map((entry) => entry.synced(signal)));
  }

  /** A sentence for each started informer that has not synced. */
  unsynced(): readonly string[] {
    return this.#started()
      .filter(({ isSynced }) => !isSynced)
      .map(({ plural }) => {
        const why = this.#errors.why(watchOf(plural));
        return `the ${plural} have not been read yet${why === undefined ? '' : `: ${why}`}`;
      });
  }

  /** Milliseconds since the last event or bookmark of the server, for each kind that received one. */
  silence(): readonly { readonly plural: string; readonly silentMs: number }[] {
    return [...this.#entries.values()].flatMap((entry) => {
      const silentMs = entry.silentMs();
      return silentMs === undefined ? [] : [{ plural: entry.plural, silentMs }];
    });
  }

  /** A sentence for each watch that failed recently. The cached objects remain available. */
  failing(): readonly string[] {
    return this.#errors.recent();
  }

  /** How often watches of the kind failed or worked again. */
  interruptions({ plural }: Pick<Kind, 'plural'>): number {
    return this.#errors.changes(watchOf(plural));
  }

  /** Stops all informers and waits for their end. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#started().map(async ({ running }) => running));
  }

  async #run(informer: AnyInformer): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) await informer.run(AbortSignal.any([signal, this.#connection.signal]));
  }

  #started(): readonly Entry[] {
    return [...this.#entries.values()].filter(({ running }) => running !== undefined);
  }

  #add<I extends Pick<Informer<ApiObject>, 'run' | 'silentMs'>>(
    informer: I,
    plural: string,
    synced: Entry['synced'],
  ): I {
    const silentMs = (): number | undefined => informer.silentMs;
    const entry: Entry = { plural, synced, silentMs, isSynced: false, running: undefined };
    void synced().then(() => (entry.isSynced = true)); // without a signal it never rejects
    this.#entries.set(informer, entry);
    return informer;
  }
}

const watchOf = (plural: string): string => `the watch of ${plural}`;

/** For objects that were parsed with their managedFields. */
export function withoutManagedFields<T extends ApiObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
