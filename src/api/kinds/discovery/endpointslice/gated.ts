import type { WriteContext } from '../../../kind.ts';
import { hasSrvName, withoutSrvName } from '../../../srv-name.ts';
import type { Endpoint, EndpointSlice } from './schema.ts';

/** Clears fields whose gate is off and that the stored slice does not use, and topology, which v1 cannot write. */
export function dropFields(slice: EndpointSlice, old: EndpointSlice | undefined, context: WriteContext): EndpointSlice {
  return withoutTopology(dropNodeHints(dropSrvNames(slice, old, context), old, context), old);
}

const usesSrvName = ({ ports }: EndpointSlice): boolean => ports?.some(hasSrvName) ?? false;

function dropSrvNames(slice: EndpointSlice, old: EndpointSlice | undefined, { gates }: WriteContext): EndpointSlice {
  if (gates.enabled('SRVServiceName') || !usesSrvName(slice) || (old !== undefined && usesSrvName(old))) return slice;
  return { ...slice, ports: slice.ports?.map(withoutSrvName) ?? null };
}

const usesNodeHints = ({ endpoints }: EndpointSlice): boolean =>
  endpoints?.some(({ hints }) => hints?.forNodes !== undefined && hints.forNodes.length > 0) ?? false;

function dropNodeHints(slice: EndpointSlice, old: EndpointSlice | undefined, { gates }: WriteContext): EndpointSlice {
  if (gates.enabled('PreferSameTrafficDistribution') || !usesNodeHints(slice)) return slice;
  if (old !== undefined && usesNodeHints(old)) return slice;
  return { ...slice, endpoints: slice.endpoints?.map(withoutNodeHints) ?? null };
}

function withoutNodeHints(endpoint: Endpoint): Endpoint {
  if (endpoint.hints?.forNodes === undefined) return endpoint;
  const { hints, ...rest } = endpoint;
  const { forNodes: _, ...others } = hints;
  return others.forZones === undefined ? rest : { ...rest, hints: others };
}

const hostnameKey = 'kubernetes.io/hostname';

/** The node that an old slice named in its topology is moved to where v1 has it. */
function withoutTopology(slice: EndpointSlice, old: EndpointSlice | undefined): EndpointSlice {
  if (slice.endpoints === null || !slice.endpoints.some((endpoint) => endpoint.deprecatedTopology)) return slice;
  const storedNodes = new Set(old?.endpoints?.map(({ deprecatedTopology }) => deprecatedTopology?.[hostnameKey]));
  const endpoints = slice.endpoints.map(({ deprecatedTopology, ...endpoint }): Endpoint => {
    const nodeName = deprecatedTopology?.[hostnameKey];
    if (nodeName === undefined || endpoint.nodeName !== undefined || !storedNodes.has(nodeName)) return endpoint;
    return { ...endpoint, nodeName };
  });
  return { ...slice, endpoints };
}
