// Hints list the zones or nodes from which an endpoint should receive traffic.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Gates } from '../../api/gates.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Endpoint, EndpointHints } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Draft } from './pack.ts';

/** The rule for the hints of a Service. */
export type HintRule = 'none' | 'sameZone' | 'sameNode' | 'topology';

/** The annotation wins over the field, and its deprecated name over the current one. */
export function hintRule({ metadata: { annotations = {} }, spec }: Service, gates: Gates): HintRule {
  const mode =
    annotations['service.kubernetes.io/topology-aware-hints'] ?? annotations['service.kubernetes.io/topology-mode'];
  if (mode === 'Auto' || mode === 'auto') return 'topology';
  if (spec.trafficDistribution === 'PreferClose') return 'sameZone';
  if (!gates.enabled('PreferSameTrafficDistribution')) return 'none';
  if (spec.trafficDistribution === 'PreferSameZone') return 'sameZone';
  return spec.trafficDistribution === 'PreferSameNode' ? 'sameNode' : 'none';
}

/** Hints by `trafficDistribution`: the zone of the endpoint and, for `sameNode`, its node. */
export function distributionHints(endpoint: Endpoint, rule: HintRule): EndpointHints | undefined {
  if (rule === 'none' || !isReady(endpoint)) return undefined;
  const { zone = '', nodeName = '' } = endpoint;
  const zones = zone === '' ? {} : { forZones: [{ name: zone }] };
  const nodes = rule === 'sameNode' && nodeName !== '' ? { forNodes: [{ name: nodeName }] } : {};
  const hints = { ...zones, ...nodes };
  return Object.keys(hints).length === 0 ? undefined : hints;
}

/** Sets hints. A slice whose hints do not change stays unchanged. */
export function withHints(
  drafts: readonly Draft[],
  hintsFor: (endpoint: Endpoint) => EndpointHints | undefined,
): readonly Draft[] {
  return drafts.map((draft) => {
    let hinted: Endpoint[] | undefined;
    for (const [index, endpoint] of draft.endpoints.entries()) {
      const hints = hintsFor(endpoint);
      if (sameHints(endpoint.hints, hints)) continue;
      hinted ??= [...draft.endpoints];
      const { hints: _, ...rest } = endpoint;
      hinted[index] = hints === undefined ? rest : { ...rest, hints };
    }
    if (hinted === undefined) return draft;
    return { ...draft, endpoints: hinted, state: draft.state === 'new' ? 'new' : 'changed' };
  });
}

function sameHints(left: EndpointHints | undefined, right: EndpointHints | undefined): boolean {
  if (left === right) return true;
  if (left === undefined || right === undefined) return false;
  return sameNames(left.forZones, right.forZones) && sameNames(left.forNodes, right.forNodes);
}

const sameNames = (left: readonly { name: string }[] = [], right: readonly { name: string }[] = []): boolean =>
  left.length === right.length && left.every(({ name }, index) => name === right[index]?.name);
