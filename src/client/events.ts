import type { Kind } from '../api/kind.ts';
import { apiVersionOf } from '../api/kind.ts';
import { eventKind } from '../api/kinds/core/event/kind.ts';
import type { Event } from '../api/kinds/core/event/schema.ts';
import type { ObjectReference } from '../api/kinds/core/object-reference.ts';
import type { ApiObject } from '../api/metadata.ts';
import { timestamp } from '../api/timestamp.ts';
import type { Client, Name } from './client.ts';
import type { Clock, Random } from './clock.ts';
import { systemClock } from './clock.ts';
import type { PlannedEvent, Series } from './event-correlator.ts';
import { EventCorrelator } from './event-correlator.ts';
import { hasStatusCode } from './transport.ts';

export interface RecorderOptions {
  readonly client: Client;
  /** Who reports, such as `endpoint-slice-controller`. */
  readonly component: string;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Told of Events that could not be written; they are not written again. */
  readonly onError?: (error: unknown) => void;
}

interface Pending {
  readonly about: ObjectReference;
  readonly series: Series;
}

/** Writes Events about objects, for `kubectl describe`. Few are made of many, and nobody waits for them. */
export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #clock: Clock;
  readonly #series = new EventCorrelator();
  /** Series → what to write of it; a series that goes on before its turn is written once. */
  readonly #pending = new Map<string, Pending>();
  /** Series → the Event it was written as. */
  readonly #written = new Map<string, Required<Name>>();
  #writing: Promise<void> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Says that something happened to an object. Never throws and never waits. */
  record<T extends ApiObject>(kind: Kind<T>, object: T, happening: PlannedEvent): void {
    const about = referenceTo(kind, object);
    const noted = this.#series.correlate(
      JSON.stringify([about.kind, about.namespace, about.name, about.uid]),
      happening,
      {
        nowMs: this.#clock.now(),
        elapsedMs: this.#clock.elapsed(),
      },
    );
    if (noted === undefined) return;
    if (this.#pending.size >= longestQueue && !this.#pending.has(noted.key)) return;
    this.#pending.set(noted.key, { about, series: noted.series });
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when everything recorded so far is written. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    for (const [key, pending] of this.#pending) {
      this.#pending.delete(key);
      try {
        await this.#write(key, pending);
      } catch (error) {
        this.#options.onError?.(error);
      }
    }
    this.#writing = undefined;
  }

  async #write(key: string, { about, series }: Pending): Promise<void> {
    const written = this.#written.get(key);
    if (written !== undefined) {
      const { count, message } = series;
      const body = { count, message, lastTimestamp: timestamp(series.lastMs) };
      try {
        await this.#options.client.patch(eventKind, written, { body, type: 'strategic' });
        return;
      } catch (error) {
        // Events are kept for an hour; one that goes on longer is written anew.
        if (!hasStatusCode(error, 404)) throw error;
      }
    }
    const event = eventOf(this.#options.component, this.#nameFor(about), { about, series });
    const { metadata } = await this.#options.client.create(eventKind, event);
    this.#written.delete(key);
    this.#written.set(key, { namespace: metadata.namespace, name: metadata.name ?? '' });
    const [eldest] = this.#written.keys();
    if (this.#written.size > longestMemory && eldest !== undefined) this.#written.delete(eldest);
  }

  #nameFor({ namespace, name = '' }: ObjectReference): { readonly namespace: string; readonly name: string } {
    const unique = Math.floor((this.#options.random ?? Math.random)() * 2 ** 52);
    // Events about objects outside namespaces go to `default`.
    return { namespace: namespace ?? 'default', name: `${name}.${unique.toString(16).padStart(16, '0')}` };
  }
}

const longestQueue = 1000;
const longestMemory = 4096;

function referenceTo(kind: Kind, { metadata }: ApiObject): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    kind: kind.kind,
    apiVersion: apiVersionOf(kind),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

function eventOf(component: string, metadata: Event['metadata'], { about, series }: Pending): Event {
  const { type, reason, message, count, firstMs, lastMs } = series;
  const event: Omit<Event, 'eventTime'> = {
    metadata,
    involvedObject: about,
    type,
    reason,
    message: message.slice(0, 1024),
    count,
    firstTimestamp: timestamp(firstMs),
    lastTimestamp: timestamp(lastMs),
    source: { component },
    reportingComponent: component,
    reportingInstance: '',
  };
  // A cast since this is the form of Events that counts, and it is told apart by having no eventTime.
  return event as Event;
}
