import type { Kind } from '../../api/kind.ts';
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Dropped } from '../guard/policy.ts';
import { droppedEvents, exportEvents } from '../project/export-events.ts';
import type { ExportObject, Progress } from '../project/exports.ts';
import type { ClusterExport } from '../record.ts';
import { exportsOf } from '../record.ts';

/** Records Events about the exports of one member, in that member. */
export class ExportEventRecorder {
  readonly #record: EventRecorder['record'];
  /** Revision of an export → the messages of its last Events about ignored parts. */
  readonly #dropped = new WeakMap<ApiObject, string>();

  constructor(record: EventRecorder['record']) {
    this.#record = record;
  }

  /** Records what has changed in conditions that were written. */
  recordConditions(
    kind: Kind,
    { record, now }: { readonly record: ClusterExport; readonly now: ExportObject },
    { deliveries }: Pick<Progress, 'deliveries'>,
  ): void {
    const before: ExportObject | undefined = exportsOf(record).find(
      ({ metadata }) => metadata.uid === now.metadata.uid,
    );
    const events = exportEvents(before?.status?.conditions ?? [], now.status?.conditions ?? [], deliveries);
    for (const event of events) this.#record(kind, now, event);
  }

  /** Records what of an export is ignored, if that has changed. */
  recordDropped({ seedExport, currentExport }: ClusterExport, dropped: readonly Dropped[]): void {
    if (dropped.length === 0) return;
    const events = droppedEvents(dropped);
    const text = events.map(({ message }) => message).join('; ');
    for (const [kind, object] of [
      [superclusterExportKind, seedExport],
      [serviceExportKind, currentExport],
    ] as const) {
      if (object === undefined || this.#dropped.get(object) === text) continue;
      this.#dropped.set(object, text);
      for (const event of events) this.#record(kind, object, event);
    }
  }
}
