// A source cluster's slices as an importing cluster has them: one for one, so that a change there is one write here.
import { managedByLabel, serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { OwnerReference } from '../../api/metadata.ts';
import type { Merged, View } from '../merge/merged.ts';
import type { ExportRecord, Shape } from '../record.ts';
import { isDeleting } from '../record.ts';
import {
  importNameLabels,
  managedBy,
  regionAnnotation,
  sliceName,
  sourceClusterLabel,
  sourceSliceAnnotation,
} from './marks.ts';

/** The shapes whose imports exist in the member, with the reference to each (MCS-66, MCS-67). */
export type Owners = { readonly [shape in Shape]?: OwnerReference };

export interface SliceOptions {
  readonly owners: Owners;
  /** The Service that a stock proxy serves the import through; undefined: there is none. */
  readonly derivedName?: string | undefined;
  /** Whether the member's server keeps `srvServiceName`. */
  readonly keepsSrvNames: boolean;
}

/** The slices that a member is to have, by name. A cluster has slices in it for as long as some view shows it. */
export function mirroredSlices(merged: Merged, options: SliceOptions): readonly EndpointSlice[] {
  return merged.exporters
    .filter(({ verdict }) => verdict.state === 'valid')
    .flatMap(({ record }) => {
      const shapes = shapesThatShow(merged, record.cluster, options.owners);
      if (shapes.length === 0) return [];
      return record.slices.flatMap((slice) => mirrored(slice, { ...options, record, merged, shapes }) ?? []);
    })
    .toSorted((left, right) => ((left.metadata.name ?? '') < (right.metadata.name ?? '') ? -1 : 1));
}

const shapes = ['seed', 'current'] as const;

const shapesThatShow = ({ views }: Merged, cluster: string, owners: Owners): readonly Shape[] =>
  shapes.filter(
    (shape) =>
      owners[shape] !== undefined && views[shape]?.clusters.some((settings) => settings.cluster === cluster) === true,
  );

interface Mirror extends SliceOptions {
  readonly record: ExportRecord;
  readonly merged: Merged;
  readonly shapes: readonly Shape[];
}

function mirrored(slice: EndpointSlice, mirror: Mirror): EndpointSlice | undefined {
  const { record } = mirror;
  const ports = routedPorts(slice.ports ?? [], mirror);
  // A slice without ports would mean something else than one whose ports are all in conflict.
  if (isDeleting(slice) || (ports.length === 0 && (slice.ports ?? []).length > 0)) return undefined;
  const { name: sourceName = '' } = slice.metadata;
  const { cluster, namespace, name } = record;
  const publishesAll = record.service?.spec.publishNotReadyAddresses === true;
  const keepsZones = record.service?.spec.trafficDistribution !== undefined;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceName({ cluster, namespace, name, slice: sourceName, addressType: slice.addressType }),
      namespace,
      labels: labelsFor(mirror),
      annotations: {
        [sourceSliceAnnotation]: sourceName,
        ...(record.region === undefined ? {} : { [regionAnnotation]: record.region }),
      },
      ownerReferences: mirror.shapes.flatMap((shape) => mirror.owners[shape] ?? []),
    },
    addressType: slice.addressType,
    endpoints: (slice.endpoints ?? []).map((endpoint) => importedEndpoint(endpoint, { publishesAll, keepsZones })),
    ports,
  };
}

function labelsFor({ record, shapes: shown, derivedName }: Mirror): Record<string, string> {
  return {
    [managedByLabel]: managedBy,
    [sourceClusterLabel]: record.cluster,
    ...Object.fromEntries(shown.map((shape) => [importNameLabels[shape], record.name])),
    // Never the name of the Service itself: the Service of this cluster would get endpoints of others (MCS-7, MCS-53).
    ...(derivedName === undefined ? {} : { [serviceNameLabel]: derivedName }),
  };
}

/** Ports that mean the same in this cluster as in the merged service: others would lead to the wrong port. */
function routedPorts(
  ports: readonly EndpointPort[],
  { merged, record, shapes: shown, keepsSrvNames }: Mirror,
): readonly EndpointPort[] {
  const isRouted = (view: View | undefined, portName: string): boolean =>
    view?.ports.some(({ name, clusters }) => name === portName && clusters.includes(record.cluster)) ?? false;
  // A Service without ports is headless, and its slices say what ports there are, if any.
  const hasPorts = (record.service?.spec.ports ?? []).length > 0;
  const routed = ports.filter(
    ({ name = '' }) => !hasPorts || shown.some((shape) => isRouted(merged.views[shape], name)),
  );
  return keepsSrvNames ? routed : routed.map(({ srvServiceName: _dropped, ...port }) => port);
}

/**
 * An endpoint as others see it. What it runs as is left out: a Pod of that name here is another. Where all addresses are
 * to be published it counts as ready, and `serving` says whether it is. Hints are kept where they say no more than the
 * endpoint's own zone; shares that were worked out for the nodes of one cluster, and names of its nodes, mean nothing in another.
 */
function importedEndpoint(
  { targetRef: _pod, deprecatedTopology: _topology, hints, ...endpoint }: Endpoint,
  { publishesAll, keepsZones }: { readonly publishesAll: boolean; readonly keepsZones: boolean },
): Endpoint {
  const { ready = true, serving = ready } = endpoint.conditions;
  const zones = keepsZones ? (hints?.forZones ?? []).filter(({ name }) => name === endpoint.zone) : [];
  return {
    ...endpoint,
    conditions: publishesAll && !ready ? { ...endpoint.conditions, ready: true, serving } : endpoint.conditions,
    ...(zones.length > 0 ? { hints: { forZones: zones } } : {}),
  };
}
