// Computes the mirror of a source slice in an importing cluster, and caches it.
import { regionAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { OwnerReference } from '../../api/metadata.ts';
import { withoutSrvName } from '../../api/kinds/core/service/facts.ts';
import type { LossPolicy } from '../../api/kinds/multicluster/labels.ts';
import { lossAnnotation } from '../../api/kinds/multicluster/labels.ts';
import { remoteGatewaysAnnotation } from '../../api/kinds/multicluster/gateway.ts';
import type { ServiceKey } from '../record.ts';
import { isDeleting } from '../record.ts';
import type { GatewayRule } from './gateway.ts';
import { throughGateway } from './gateway.ts';
import { sliceName, sourceSliceAnnotation } from './labels.ts';

/** How the slices of one source cluster are mirrored into one member. Plain data: equal rules produce equal slices. */
export interface MirrorRule extends ServiceKey {
  /** The source cluster. */
  readonly cluster: string;
  readonly region?: string | undefined;
  readonly onLoss: LossPolicy;
  /** Its endpoints are terminating: proxies use them only if no others are ready. */
  readonly isLastResort: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly owners: readonly OwnerReference[];
  /** Names of the ports that are equal in the source and the merged service; undefined: all. */
  readonly ports: readonly string[] | undefined;
  readonly keepsSrvNames: boolean;
  /** All endpoints count as ready (MCS-134). */
  readonly publishesAll: boolean;
  /** Hints for an endpoint's own zone are kept. */
  readonly keepsZones: boolean;
  /** Set if the importing cluster reaches the source by gateways. */
  readonly gateway?: GatewayRule | undefined;
  /** Further annotations. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** The mirror of a slice; undefined: none. */
export function mirrorOf(source: EndpointSlice, rule: MirrorRule): EndpointSlice | undefined {
  const slice = rule.gateway === undefined ? source : throughGateway(source, rule.gateway);
  const ports = routedPorts(slice.ports ?? [], rule);
  // A slice without ports means all ports, so a slice whose ports are all in conflict has no mirror.
  if (isDeleting(slice) || (ports.length === 0 && (source.ports ?? []).length > 0)) return undefined;
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
        ...(rule.gateway === undefined ? {} : { [remoteGatewaysAnnotation]: rule.gateway.remote }),
        ...rule.annotations,
      },
      ownerReferences: rule.owners,
    },
    addressType: slice.addressType,
    endpoints: importedEndpoints(slice.endpoints ?? [], rule),
    ports,
  };
}

/** Keeps the ports that are equal to those of the merged service. */
export function routedPorts(
  ports: readonly EndpointPort[],
  { ports: names, keepsSrvNames }: Pick<MirrorRule, 'ports' | 'keepsSrvNames'>,
): readonly EndpointPort[] {
  const routed = names === undefined ? ports : ports.filter(({ name = '' }) => names.includes(name));
  return keepsSrvNames ? routed : routed.map(withoutSrvName);
}

/** Endpoints for other clusters; the same list if nothing changes, so that all mirrors share it. */
function importedEndpoints(endpoints: readonly Endpoint[], rule: MirrorRule): readonly Endpoint[] {
  const imported = endpoints.map((endpoint) => importedEndpoint(endpoint, rule));
  return imported.every((endpoint, index) => endpoint === endpoints[index]) ? endpoints : imported;
}

/**
 * An endpoint for other clusters. Its Pod is left out, because a Pod of that name in another cluster is a different one. If all
 * endpoints are published, it counts as ready, and `serving` has its readiness. Only hints for the endpoint's own zone are kept:
 * hints for other zones or for nodes are only valid in the source cluster.
 */
function importedEndpoint(original: Endpoint, rule: MirrorRule): Endpoint {
  const { targetRef, deprecatedTopology, hints, ...endpoint } = original;
  const conditions = importedConditions(endpoint.conditions, rule);
  const isPlain = [targetRef, deprecatedTopology, hints].every((each) => each === undefined);
  if (isPlain && conditions === endpoint.conditions) return original;
  const zones = rule.keepsZones ? (hints?.forZones ?? []).filter(({ name }) => name === endpoint.zone) : [];
  return { ...endpoint, conditions, ...(zones.length > 0 ? { hints: { forZones: zones } } : {}) };
}

function importedConditions(
  conditions: Endpoint['conditions'],
  { publishesAll, isLastResort }: MirrorRule,
): Endpoint['conditions'] {
  const { ready = true, serving = ready } = conditions;
  if (isLastResort) return { ready: false, serving, terminating: true };
  return publishesAll && !ready ? { ...conditions, ready: true, serving } : conditions;
}

/**
 * Caches mirrors and comparisons per slice object, so that the change of one slice costs as much as that slice and not as the
 * whole service. One cache per member; the results do not depend on it.
 */
export class MirrorCache {
  /** Source slice → its mirror, and the rule that it was computed with. */
  readonly #mirrors = new WeakMap<
    EndpointSlice,
    { readonly rule: string; readonly mirror: EndpointSlice | undefined }
  >();
  /** Actual slice → the desired slice that it is equal to. */
  readonly #equals = new WeakMap<EndpointSlice, EndpointSlice>();

  /** The mirror of a slice under a rule, which is given as text. */
  mirror(slice: EndpointSlice, rule: string, make: () => EndpointSlice | undefined): EndpointSlice | undefined {
    const known = this.#mirrors.get(slice);
    if (known?.rule === rule) return known.mirror;
    const mirror = make();
    this.#mirrors.set(slice, { rule, mirror });
    return mirror;
  }

  /** Whether an actual slice is equal to the desired one. */
  isSame(actual: EndpointSlice, wanted: EndpointSlice, compare: () => boolean): boolean {
    if (this.#equals.get(actual) === wanted) return true;
    if (!compare()) return false;
    this.#equals.set(actual, wanted);
    return true;
  }
}
