// Computes how long a member has been behind its sources.
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { triggerTimeAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Merged } from '../merge/merged.ts';
import type { Write } from '../project/desired.ts';
import { sourceSliceAnnotation } from '../project/labels.ts';
import { exportedAt } from '../record.ts';

/**
 * The time of the oldest pending write, in milliseconds by the clock of its source: for endpoints the trigger time of the slice,
 * for an import the time of the export. undefined: nothing is pending, or the time is unknown.
 */
export function waitingSince(merged: Merged, writes: readonly Write[]): number | undefined {
  const times = writes.map((write) => changedAt(merged, write)).filter((time) => !Number.isNaN(time));
  return times.length === 0 ? undefined : Math.min(...times);
}

function changedAt(merged: Merged, { verb, kind, object }: Write): number {
  if (kind === endpointSliceKind) {
    const source = sourceOf(merged, object);
    const { annotations, creationTimestamp } = source?.metadata ?? {};
    // The creation time is only valid for a new slice.
    return Date.parse(annotations?.[triggerTimeAnnotation] ?? (verb === 'create' ? (creationTimestamp ?? '') : ''));
  }
  return verb === 'create' ? firstExported(merged) : NaN;
}

/** The source of a mirrored slice. */
function sourceOf({ exporters }: Merged, { metadata: { labels, annotations } }: ApiObject): EndpointSlice | undefined {
  const exporter = exporters.find(({ cluster }) => cluster === labels?.[sourceClusterLabel]);
  return exporter?.record.slices.find(({ metadata }) => metadata.name === annotations?.[sourceSliceAnnotation]);
}

/** The first time at which a cluster had both an export and the Service, so that others could import it. */
function firstExported({ exporters, order }: Merged): number {
  const times = exporters
    .filter(({ cluster }) => order.includes(cluster))
    .map(({ record }) => {
      const exported = exportedAt(record);
      return Math.max(Date.parse(exported), Date.parse(record.service?.metadata.creationTimestamp ?? exported));
    });
  return times.length === 0 ? NaN : Math.min(...times);
}
