import type { Logger } from 'pino';
import type { Kind } from '../api/kind.ts';
import { apiVersionOf } from '../api/kind.ts';
import { eventKind } from '../api/kinds/core/event/kind.ts';
import type { Event } from '../api/kinds/core/event/schema.ts';
import type { ObjectReference } from '../api/kinds/core/references.ts';
import type { ApiObject } from '../api/metadata.ts';
import { timestamp } from '../api/timestamp.ts';
import type { Client } from './client.ts';
import type { Name } from './key.ts';
import type { Clock, Random } from './clock.ts';
import { systemClock } from './clock.ts';
import type { PlannedEvent, Series } from './event-correlator.ts';
import { EventCorrelator } from './event-correlator.ts';
import { hasStatusCode } from './transport.ts';

export interface RecorderOptions {
  readonly client: Client;
  /** The reporting component, such as `endpoint-slice-controller`. */
  readonly component: string;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Logs Events that could not be written; they are not retried. */
  readonly log: Pick<Logger, 'debug'>;
}

interface Pending {
  readonly about: ObjectReference;
  readonly series: Series;
}

/** Writes Events about objects in the background, after EventCorrelator has reduced their number. */
export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #clock: Clock;
  readonly #series = new EventCorrelator();
  /** Series → its unwritten state. A series that changes before it is written is written once. */
  readonly #pending = new Map<string, Pending>();
  /** Series → its Event. */
  readonly #written = new Map<string, Required<Name>>();
  #writing: Promise<void> | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Records an event, about a part of the object if a path is given. Never throws and does not wait for the write. */
  record<T extends ApiObject>(kind: Kind<T>, object: T, event: PlannedEvent, fieldPath?: string): void {
    const about = { ...referenceTo(kind, object), ...(fieldPath === undefined ? {} : { fieldPath }) };
    const correlated = this.#series.correlate(
      JSON.stringify([about.kind, about.namespace, about.name, about.uid, fieldPath]),
      event,
      {
        nowMs: this.#clock.now(),
        elapsedMs: this.#clock.elapsed(),
      },
    );
    if (correlated === undefined) return;
    if (this.#pending.size >= maxPending && !this.#pending.has(correlated.key)) return;
    this.#pending.set(correlated.key, { about, series: correlated.series });
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
        const { log, component } = this.#options;
        log.debug({ component, err: error }, 'could not write an Event');
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
        // The server deletes Events after an hour: create a new one.
        if (!hasStatusCode(error, 404)) throw error;
      }
    }
    const event = eventOf(this.#options.component, this.#nameFor(about), { about, series });
    const { metadata } = await this.#options.client.create(eventKind, event);
    this.#written.delete(key);
    this.#written.set(key, { namespace: metadata.namespace, name: metadata.name ?? '' });
    const [oldest] = this.#written.keys();
    if (this.#written.size > maxWritten && oldest !== undefined) this.#written.delete(oldest);
  }

  #nameFor({ namespace, name = '' }: ObjectReference): { readonly namespace: string; readonly name: string } {
    const unique = Math.floor((this.#options.random ?? Math.random)() * 2 ** 52);
    // Events about objects outside namespaces go to `default`.
    return { namespace: namespace ?? 'default', name: `${name}.${unique.toString(16).padStart(16, '0')}` };
  }
}

const maxPending = 1000;
const maxWritten = 4096;

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
  // A cast because core/v1 Events with a count have no eventTime.
  return event as Event;
}
