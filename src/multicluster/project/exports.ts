// Computes the writes to the exports of one cluster: finalizers and conditions.
import type { Kind } from '../../api/kind.ts';
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Exporter, Merged } from '../merge/merged.ts';
import type { ClusterExport } from '../record.ts';
import { exportsOf, isDeleting } from '../record.ts';
import type { Write } from './desired.ts';
import type { Delivery } from './export-conditions.ts';
import { exportConditions, leavingConditions } from './export-conditions.ts';
import { exportFinalizer } from './labels.ts';
import type { ExistingCondition, PlannedCondition } from './conditions.ts';
import { withConditions } from './conditions.ts';

/** The progress of a service in all members. */
export interface Progress {
  /** One for each member of the set. */
  readonly deliveries: readonly Delivery[];
  /** No reachable member has anything of this cluster, so that its finalizer can be removed. */
  readonly isWithdrawn: boolean;
  /** The time for conditions that change. */
  readonly now: string;
}

/** An export of either API. */
export interface ExportObject extends ApiObject {
  readonly status?: { readonly conditions?: readonly ExistingCondition[] };
}

/** Whether the conditions of an export report that all clusters have the service. */
export const isReportedExported = (record: ClusterExport): boolean =>
  exportsOf(record).some(({ status }: ExportObject) =>
    (status?.conditions ?? []).some(
      ({ type, status: value }) => (type === 'Exported' || type === 'Ready') && value === 'True',
    ),
  );

/** The writes to the exports of one cluster; none in the steady state. Conditions are written after the finalizer. */
export function diffExports(merged: Merged, exporter: Exporter, progress: Progress): readonly Write[] {
  const { superclusterExport, serviceExport } = exporter.record;
  const planned = exportConditions(merged, exporter, progress.deliveries);
  const isLeaving = exporter.verdict.state === 'leaving';
  // Deleting one of two exports withdraws nothing: the other one still exports the service.
  const mayBeReleased = !isLeaving || progress.isWithdrawn;
  return [
    ...diffExport(superclusterExportKind, superclusterExport, {
      conditions: planned.supercluster,
      mayBeReleased,
      now: progress.now,
    }),
    ...diffExport(serviceExportKind, serviceExport, {
      conditions: planned.clusterset,
      mayBeReleased,
      now: progress.now,
    }),
  ];
}

interface Wanted {
  readonly conditions: readonly PlannedCondition[];
  readonly mayBeReleased: boolean;
  readonly now: string;
}

function diffExport(
  kind: Kind,
  object: ExportObject | undefined,
  { conditions: planned, mayBeReleased, now }: Wanted,
): readonly Write[] {
  if (object === undefined) return [];
  const { finalizers = [] } = object.metadata;
  const hasFinalizer = finalizers.includes(exportFinalizer);
  if (isDeleting(object)) {
    return hasFinalizer && mayBeReleased ? [withoutFinalizer(kind, object)] : [];
  }
  if (!hasFinalizer) return [withFinalizers(kind, object, [...finalizers, exportFinalizer])];
  return conditionWrites(kind, object, { conditions: planned, now });
}

function conditionWrites(
  kind: Kind,
  object: ExportObject,
  { conditions: planned, now }: Pick<Wanted, 'conditions' | 'now'>,
): readonly Write[] {
  const conditions = withConditions(planned, object.status?.conditions ?? [], now);
  if (conditions === undefined) return [];
  const changed: ExportObject = { ...object, status: { ...object.status, conditions } };
  return [{ verb: 'updateStatus', kind, object: changed }];
}

/**
 * The next writes to the exports of a cluster that leaves the set: conditions that report it, then the finalizer is removed,
 * which nothing would remove later. Exports without the finalizer are left alone.
 */
export function diffLeavingExports(
  record: ClusterExport,
  { cluster, now }: { cluster: string; now: string },
): readonly Write[] {
  const { supercluster, clusterset } = leavingConditions(cluster);
  return [
    ...releaseWrites(superclusterExportKind, record.superclusterExport, { conditions: supercluster, now }),
    ...releaseWrites(serviceExportKind, record.serviceExport, { conditions: clusterset, now }),
  ];
}

function releaseWrites(
  kind: Kind,
  object: ExportObject | undefined,
  wanted: Pick<Wanted, 'conditions' | 'now'>,
): readonly Write[] {
  if (object?.metadata.finalizers?.includes(exportFinalizer) !== true) return [];
  const writes = isDeleting(object) ? [] : conditionWrites(kind, object, wanted);
  return writes.length > 0 ? writes : [withoutFinalizer(kind, object)];
}

const withoutFinalizer = (kind: Kind, object: ApiObject): Write =>
  withFinalizers(
    kind,
    object,
    (object.metadata.finalizers ?? []).filter((each) => each !== exportFinalizer),
  );

const withFinalizers = (kind: Kind, object: ApiObject, finalizers: readonly string[]): Write => ({
  verb: 'update',
  kind,
  object: { ...object, metadata: { ...object.metadata, finalizers } },
});
