// Events and log lines about objects: once for each new statement.
import type { Logger } from 'pino';
import type { EventRecorder } from '../client/events.ts';
import type { Sources } from './sources.ts';
import type { NameChange } from './plan/changes.ts';
import type { Refusal } from './plan/claim.ts';
import type { ObjectRefusal } from './plan/desired.ts';
import { printSet } from './plan/record-set.ts';

/** Above this many changes in one sync, successes are only counted: an Event for each would be a load of its own. */
const maxPublishedEvents = 100;
/** The most refusals of one object that are reported: an object may ask for thousands of names. */
const maxRefusals = 10;
/** The most objects that get an Event because a zone cannot be written to. */
const maxZoneEvents = 20;

export interface ReporterOptions {
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly sources: Pick<Sources, 'find'>;
}

/** Reports to people what was published and what was refused. */
export class Reporter {
  readonly #options: ReporterOptions;
  /** Topic (`claims`, or a zone) → object → the messages that were reported of it last. */
  readonly #reported = new Map<string, ReadonlyMap<string, ReadonlySet<string>>>();
  /** Zone → its error without numbers, and the objects that it was reported on. */
  readonly #errors = new Map<string, { readonly kind: string; readonly objects: Set<string> }>();

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** Reports what is refused now; what was reported before is not repeated until it changes. */
  refused(topic: string, refusals: readonly ObjectRefusal[]): void {
    const last = this.#reported.get(topic);
    const now = new Map<string, ReadonlySet<string>>();
    for (const [resource, all] of Map.groupBy(refusals, (refusal) => refusal.resource)) {
      const some = firstOf(all);
      now.set(resource, new Set(some.map(({ message }) => message)));
      const known = last?.get(resource);
      for (const refusal of some) if (known?.has(refusal.message) !== true) this.#refuse(resource, refusal);
    }
    this.#reported.set(topic, now);
  }

  /** Reports changes that were applied. */
  published(zone: string, changes: readonly NameChange[]): void {
    const { log } = this.#options;
    if (changes.length === 0) return;
    if (changes.length > maxPublishedEvents) {
      log.info({ zone, names: changes.length }, 'records published');
      return;
    }
    for (const change of changes) {
      const sets = describe(change);
      log.info({ zone, change: change.kind, records: sets }, 'records published');
      for (const resource of change.resources)
        this.#record(resource, {
          type: 'Normal',
          reason: eventReasons[change.kind],
          message: `${verbs[change.kind]} ${sets}`,
        });
    }
  }

  /** Reports that a zone cannot be read or written, on objects that wait for it. */
  failed(zone: string, message: string, waiting: Iterable<string>): void {
    // The numbers in a message, such as the difference of clocks, change with every attempt.
    const kind = message.replaceAll(/\d+/g, '#');
    let error = this.#errors.get(zone);
    if (error?.kind !== kind) {
      error = { kind, objects: new Set() };
      this.#errors.set(zone, error);
      this.#options.log.warn({ zone }, `records are not published: ${message}`);
    }
    for (const resource of waiting) {
      if (error.objects.size === maxZoneEvents) return;
      if (error.objects.has(resource)) continue;
      error.objects.add(resource);
      this.#record(resource, { type: 'Warning', reason: 'PublishFailed', message: `zone ${zone}: ${message}` });
    }
  }

  /** The zone can be read and written again. */
  recovered(zone: string): void {
    if (this.#errors.delete(zone)) this.#options.log.info({ zone }, 'records are published again');
  }

  #refuse(resource: string, { reason, message }: Refusal): void {
    // The ordinary state of a Service whose load balancer is being created.
    if (reason === 'Pending') return;
    this.#options.log.warn({ object: resource, reason }, `not published: ${message}`);
    this.#record(resource, { type: 'Warning', reason, message });
  }

  #record(
    resource: string,
    event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string },
  ): void {
    const { recorder, sources } = this.#options;
    const object = sources.find(resource);
    if (object === undefined) return; // deleted meanwhile
    recorder.record(object.kind, object.object, event);
  }
}

function firstOf(refusals: readonly ObjectRefusal[]): readonly ObjectRefusal[] {
  const next = refusals[maxRefusals];
  if (next === undefined) return refusals;
  const message = 'more names are rejected: `fairlead publisher plan` prints all';
  return [...refusals.slice(0, maxRefusals), { ...next, message }];
}

const eventReasons = { create: 'Published', update: 'Published', delete: 'Unpublished' } as const;
const verbs = { create: 'created', update: 'updated', delete: 'deleted' } as const;

/** The sets of a change without registry records. */
const describe = ({ changes, kind }: NameChange): string =>
  changes
    .flatMap(({ before, after }) => (before === after ? [] : [after ?? (kind === 'delete' ? before : undefined)]))
    .flatMap((set) => (set === undefined || set.type === 'TXT' ? [] : printSet(set)))
    .join('; ');
