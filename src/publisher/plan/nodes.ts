// The nodes through which clients reach a NodePort Service, and their addresses.
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';

/** The nodes that forward traffic for a NodePort Service. Unusable nodes are left out while there are others. */
export function exposedNodes(
  { spec }: Service,
  { nodes, slices }: { readonly nodes: readonly Node[]; readonly slices: readonly EndpointSlice[] },
): readonly Node[] {
  const usable = nodes.filter((node) => node.spec?.unschedulable !== true && isNodeReady(node));
  const all = usable.length > 0 ? usable : nodes;
  if (spec.externalTrafficPolicy !== 'Local') return all;
  const hosts = new Set(
    slices.flatMap(({ endpoints }) => (endpoints ?? []).filter(isReady).map(({ nodeName }) => nodeName)),
  );
  return all.filter(({ metadata: { name } }) => hosts.has(name));
}

const isNodeReady = ({ status }: Node): boolean =>
  (status?.conditions ?? []).every(({ type, status: state }) => type !== 'Ready' || state === 'True');

/**
 * The addresses of nodes, as ExternalDNS chooses them: `public` is external addresses and internal IPv6 addresses, `private`
 * internal addresses, and by default public if there is an external address.
 */
export function nodeAddresses(nodes: readonly Node[], access: 'public' | 'private' | undefined): readonly string[] {
  const of = (wanted: string): readonly string[] =>
    nodes.flatMap(({ status }) =>
      (status?.addresses ?? []).flatMap(({ type, address }) =>
        type === wanted ? (canonicalAddress(address) ?? []) : [],
      ),
    );
  const [external, internal] = [of('ExternalIP'), of('InternalIP')];
  const isPublic = access === 'public' || (access === undefined && external.length > 0);
  return isPublic ? [...external, ...internal.filter((address) => familyOf(address) === 'IPv6')] : internal;
}
