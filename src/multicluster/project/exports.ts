// What to write to the exports of one cluster: their finalizer and their conditions.
import type { Kind } from '../../api/kind.ts';
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Exporter, Merged } from '../merge/merged.ts';
import type { ExportRecord } from '../record.ts';
import { exportsOf, isDeleting } from '../record.ts';
import type { Write } from './desired.ts';
import type { Delivery } from './export-conditions.ts';
import { exportStatements } from './export-conditions.ts';
import { exportFinalizer } from './marks.ts';
import type { ReadCondition, Statement } from './statement.ts';
import { stated } from './statement.ts';

/** How far the service has come. */
export interface Progress {
  /** One for each member of the set. */
  readonly deliveries: readonly Delivery[];
  /** Nothing of this cluster is left in any member that can be reached, so that its export may go. */
  readonly isWithdrawn: boolean;
  /** The time for conditions that change. */
  readonly now: string;
}

/** An export of either shape. */
export interface ExportObject extends ApiObject {
  readonly status?: { readonly conditions?: readonly ReadCondition[] };
}

/** Whether an export of the record says that all clusters have the service. */
export const isSaidExported = (record: ExportRecord): boolean =>
  exportsOf(record).some(({ status }: ExportObject) =>
    (status?.conditions ?? []).some(
      ({ type, status: said }) => (type === 'Exported' || type === 'Ready') && said === 'True',
    ),
  );

/** The writes to the exports of one cluster; none in the steady state. A condition follows once the finalizer is there. */
export function diffExports(merged: Merged, exporter: Exporter, progress: Progress): readonly Write[] {
  const { seedExport, currentExport } = exporter.record;
  const statements = exportStatements(merged, exporter, progress.deliveries);
  const isLeaving = exporter.verdict.state === 'leaving';
  // One of two that goes takes nothing with it: the other still exports the service.
  const mayGo = !isLeaving || progress.isWithdrawn;
  return [
    ...diffExport(superclusterExportKind, seedExport, { statements: statements.seed, mayGo, now: progress.now }),
    ...diffExport(serviceExportKind, currentExport, { statements: statements.current, mayGo, now: progress.now }),
  ];
}

interface Wanted {
  readonly statements: readonly Statement[];
  readonly mayGo: boolean;
  readonly now: string;
}

function diffExport(
  kind: Kind,
  object: ExportObject | undefined,
  { statements, mayGo, now }: Wanted,
): readonly Write[] {
  if (object === undefined) return [];
  const { finalizers = [] } = object.metadata;
  const isHeld = finalizers.includes(exportFinalizer);
  if (isDeleting(object)) {
    if (!isHeld || !mayGo) return [];
    return [
      withFinalizers(
        kind,
        object,
        finalizers.filter((each) => each !== exportFinalizer),
      ),
    ];
  }
  if (!isHeld) return [withFinalizers(kind, object, [...finalizers, exportFinalizer])];
  const conditions = stated(statements, object.status?.conditions ?? [], now);
  if (conditions === undefined) return [];
  const changed: ExportObject = { ...object, status: { ...object.status, conditions } };
  return [{ verb: 'updateStatus', kind, object: changed }];
}

const withFinalizers = (kind: Kind, object: ApiObject, finalizers: readonly string[]): Write => ({
  verb: 'update',
  kind,
  object: { ...object, metadata: { ...object.metadata, finalizers } },
});
