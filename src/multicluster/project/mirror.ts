// One slice of a source cluster as an importing cluster has it.
import { regionAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { OwnerReference } from '../../api/metadata.ts';
import { withoutSrvName } from '../../api/kinds/core/service/facts.ts';
import type { LossPolicy } from '../../api/kinds/multicluster/labels.ts';
import { lossAnnotation } from '../../api/kinds/multicluster/labels.ts';
import type { ServiceKey } from '../record.ts';
import { isDeleting } from '../record.ts';
import { sliceName, sourceSliceAnnotation } from './marks.ts';

/** How all slices of one source cluster are mirrored into one member. Plain data: equal rules give equal slices. */
export interface MirrorRule extends ServiceKey {
  /** The source cluster. */
  readonly cluster: string;
  readonly region?: string | undefined;
  readonly onLoss: LossPolicy;
  /** The source does not answer now. */
  readonly isSilent: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly owners: readonly OwnerReference[];
  /** Names of the ports that mean the same there as in the merged service; undefined: all do. */
  readonly ports: readonly string[] | undefined;
  readonly keepsSrvNames: boolean;
  /** Endpoints count as ready whether they are or not (MCS-134). */
  readonly publishesAll: boolean;
  /** Hints that prefer an endpoint's own zone hold here too. */
  readonly keepsZones: boolean;
}

/** The mirror of a slice; undefined: it has none. */
export function mirrorOf(slice: EndpointSlice, rule: MirrorRule): EndpointSlice | undefined {
  const ports = routedPorts(slice.ports ?? [], rule);
  // A slice without ports would mean something else than one whose ports are all in conflict.
  if (isDeleting(slice) || (ports.length === 0 && (slice.ports ?? []).length > 0)) return undefined;
  const { name: sourceName = '' } = slice.metadata;
  const { cluster, namespace, name, region } = rule;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceName({ cluster, namespace, name, slice: sourceName, addressType: slice.addressType }),
      namespace,
      labels: rule.labels,
      annotations: {
        [sourceSliceAnnotation]: sourceName,
        ...(region === undefined ? {} : { [regionAnnotation]: region }),
        ...(rule.onLoss === 'Keep' ? { [lossAnnotation]: rule.onLoss } : {}),
      },
      ownerReferences: rule.owners,
    },
    addressType: slice.addressType,
    endpoints: importedEndpoints(slice.endpoints ?? [], rule),
    ports,
  };
}

/** Other ports would lead to the wrong ones. */
function routedPorts(
  ports: readonly EndpointPort[],
  { ports: names, keepsSrvNames }: MirrorRule,
): readonly EndpointPort[] {
  const routed = names === undefined ? ports : ports.filter(({ name = '' }) => names.includes(name));
  return keepsSrvNames ? routed : routed.map(withoutSrvName);
}

/** Endpoints as others see them; the same list when they see just that, so that all mirrors share it. */
function importedEndpoints(endpoints: readonly Endpoint[], rule: MirrorRule): readonly Endpoint[] {
  const imported = endpoints.map((endpoint) => importedEndpoint(endpoint, rule));
  return imported.every((endpoint, index) => endpoint === endpoints[index]) ? endpoints : imported;
}

/**
 * An endpoint as others see it. What it runs as is left out: a Pod of that name here is another. Where all addresses are
 * to be published it counts as ready, and `serving` says whether it is. Hints are kept where they say no more than the
 * endpoint's own zone; shares that were worked out for the nodes of one cluster, and names of its nodes, mean nothing in another.
 */
function importedEndpoint(original: Endpoint, rule: MirrorRule): Endpoint {
  const { targetRef, deprecatedTopology, hints, ...endpoint } = original;
  const conditions = importedConditions(endpoint.conditions, rule);
  const isPlain = [targetRef, deprecatedTopology, hints].every((each) => each === undefined);
  if (isPlain && conditions === endpoint.conditions) return original;
  const zones = rule.keepsZones ? (hints?.forZones ?? []).filter(({ name }) => name === endpoint.zone) : [];
  return { ...endpoint, conditions, ...(zones.length > 0 ? { hints: { forZones: zones } } : {}) };
}

/** Endpoints of a cluster that may be lost are as those about to end: every proxy uses them when there are no others. */
function importedConditions(
  conditions: Endpoint['conditions'],
  { publishesAll, onLoss, isSilent }: MirrorRule,
): Endpoint['conditions'] {
  const { ready = true, serving = ready } = conditions;
  if (onLoss === 'Demote' && isSilent) return { ready: false, serving, terminating: true };
  return publishesAll && !ready ? { ...conditions, ready: true, serving } : conditions;
}
