import type { Kind } from '../../api/kind.ts';
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Clock } from '../../client/clock.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Dropped } from '../guard/policy.ts';
import { droppedEvents, exportEvents } from '../project/export-events.ts';
import type { ExportObject, Progress } from '../project/exports.ts';
import type { ClusterExport } from '../record.ts';
import { exportsOf } from '../record.ts';

/**
 * How long a conflict must be resolved before an Event reports it: while the oldest export is deleted and created again, the
 * conflict is resolved for a moment only.
 */
const resolvedMs = 5000;

/** A resolved conflict without its Event yet. */
interface Resolved {
  /** The message of the last Event `Conflict`. */
  readonly message: string | undefined;
  readonly cancel: () => void;
}

/** Records Events about the exports of one member, in that member. */
export class ExportEventRecorder implements Disposable {
  readonly #record: EventRecorder['record'];
  readonly #clock: Clock;
  /** UID of an export → its resolved conflict. */
  readonly #resolved = new Map<string, Resolved>();
  /** Revision of an export → the messages of its last Events about ignored parts. */
  readonly #dropped = new WeakMap<ApiObject, string>();

  constructor(record: EventRecorder['record'], clock: Clock) {
    this.#record = record;
    this.#clock = clock;
  }

  [Symbol.dispose](): void {
    for (const { cancel } of this.#resolved.values()) cancel();
  }

  /** Records Events about the conditions that a status write has changed. */
  recordConditions(
    kind: Kind,
    { record, now }: { readonly record: ClusterExport; readonly now: ExportObject },
    { deliveries }: Pick<Progress, 'deliveries'>,
  ): void {
    const before: ExportObject | undefined = exportsOf(record).find(
      ({ metadata }) => metadata.uid === now.metadata.uid,
    );
    const events = exportEvents(before?.status?.conditions ?? [], now.status?.conditions ?? [], deliveries);
    for (const event of events) {
      if (event.reason === 'ConflictResolved') this.#recordLater(kind, { before, now }, event);
      else if (event.reason !== 'Conflict' || this.#isNewConflict(now, event)) this.#record(kind, now, event);
    }
  }

  #recordLater(
    kind: Kind,
    { before, now }: { readonly before: ExportObject | undefined; readonly now: ExportObject },
    event: PlannedEvent,
  ): void {
    const { uid = '' } = now.metadata;
    const { message } = before?.status?.conditions?.find(({ type }) => type === 'Conflict') ?? {};
    this.#resolved.get(uid)?.cancel();
    const cancel = this.#clock.after(resolvedMs, () => {
      this.#resolved.delete(uid);
      this.#record(kind, now, event);
    });
    this.#resolved.set(uid, { message, cancel });
  }

  /** Whether a conflict differs from the one that was resolved for a moment. */
  #isNewConflict({ metadata: { uid = '' } }: ExportObject, { message }: PlannedEvent): boolean {
    const resolved = this.#resolved.get(uid);
    resolved?.cancel();
    this.#resolved.delete(uid);
    return resolved?.message !== message;
  }

  /** Records Events about ignored parts of an export when they have changed. */
  recordDropped({ superclusterExport, serviceExport }: ClusterExport, dropped: readonly Dropped[]): void {
    if (dropped.length === 0) return;
    const events = droppedEvents(dropped);
    const text = events.map(({ message }) => message).join('; ');
    for (const [kind, object] of [
      [superclusterExportKind, superclusterExport],
      [serviceExportKind, serviceExport],
    ] as const) {
      if (object === undefined || this.#dropped.get(object) === text) continue;
      this.#dropped.set(object, text);
      for (const event of events) this.#record(kind, object, event);
    }
  }
}
