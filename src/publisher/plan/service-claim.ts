// A Service → its claim.
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Exposure } from '../../api/kinds/core/service/exposure.ts';
import { exposedPorts, loadBalancerExposure } from '../../api/kinds/core/service/exposure.ts';
import { hasClusterIp, isExternalName, isHeadless } from '../../api/kinds/core/service/facts.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { isReady, portNumberIn } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Publication } from './annotations.ts';
import { publicationOf } from './annotations.ts';
import type { Claim, Refusal, Surroundings } from './claim.ts';
import type { PublishedEndpoints } from './claim-builder.ts';
import { ClaimBuilder, targetsOf } from './claim-builder.ts';

/** The claim of a Service; undefined: it has none. */
export function claimOfService(service: Service, around: Surroundings): Claim | undefined {
  const publication = publicationOf(service.metadata.annotations);
  if (publication === undefined) return undefined;
  const builder = new ClaimBuilder(service, 'service', { publication, ttl: around.ttl });
  const hostnames = builder.hostnames(publication.hostnames);
  if (isHeadless(service) && publication.targets.length === 0 && !isExternalName(service)) {
    const endpoints = endpointsOf(service, { around, publication });
    for (const name of hostnames) builder.addEndpoints(name, endpoints);
  } else {
    const exposure = exposureOf(service, { publication, around });
    for (const name of hostnames) builder.addExposure(name, exposure, notExposed(service));
  }
  const internal = internalExposure(service);
  for (const name of builder.hostnames(publication.internalHostnames))
    builder.addExposure(name, internal, { reason: 'Pending', message: 'it has no cluster IP' });
  return builder.claim();
}

interface Given {
  readonly publication: Publication;
  readonly around: Surroundings;
}

function exposureOf(service: Service, { publication, around }: Given): Exposure {
  const own = ownExposure(service, { publication, around });
  return publication.targets.length === 0 ? own : { ...own, ...targetsOf(publication.targets) };
}

const nothing: Exposure = { addresses: [], hostnames: [], ports: [] };

function ownExposure(service: Service, { publication, around }: Given): Exposure {
  const { spec } = service;
  const balanced = loadBalancerExposure(service);
  if (spec.type === 'LoadBalancer') return balanced;
  if (spec.type === 'NodePort') {
    const nodes = exposedNodes(service, around);
    return {
      addresses: nodeAddresses(nodes, publication.access),
      hostnames: [],
      ports: exposedPorts(service, ({ nodePort }) => nodePort),
    };
  }
  const isReached = balanced.addresses.length > 0 || publication.targets.length > 0;
  if (isReached) return balanced; // external IPs, or targets that the user names
  return isExternalName(service) ? { ...nothing, hostnames: [spec.externalName ?? ''].filter(Boolean) } : nothing;
}

/** The nodes that forward traffic for a NodePort Service. Unusable nodes are left out while there are others. */
function exposedNodes(
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
function nodeAddresses(nodes: readonly Node[], access: 'public' | 'private' | undefined): readonly string[] {
  const of = (desired: string): readonly string[] =>
    nodes.flatMap(({ status }) =>
      (status?.addresses ?? []).flatMap(({ type, address }) =>
        type === desired ? (canonicalAddress(address) ?? []) : [],
      ),
    );
  const [external, internal] = [of('ExternalIP'), of('InternalIP')];
  const isPublic = access === 'public' || (access === undefined && external.length > 0);
  return isPublic ? [...external, ...internal.filter((address) => familyOf(address) === 'IPv6')] : internal;
}

/** Why a Service has no target. */
function notExposed({ spec: { type = 'ClusterIP' } }: Service): Refusal {
  if (type === 'LoadBalancer') return { reason: 'Pending', message: 'its load balancer has no address yet' };
  if (type === 'NodePort') return { reason: 'Pending', message: 'no node has an address to publish' };
  const message = `a Service of type ${type} is not reachable from outside: use LoadBalancer or NodePort, or the annotation target`;
  return { reason: 'NotExposed', message };
}

const internalExposure = (service: Service): Exposure => ({
  addresses: hasClusterIp(service) ? (service.spec.clusterIPs ?? [service.spec.clusterIP ?? '']) : [],
  hostnames: [],
  ports: exposedPorts(service, ({ port }) => port),
});

function endpointsOf(service: Service, { around, publication }: Given): readonly PublishedEndpoints[] {
  const { endpointsType } = publication;
  const own = ({ addresses }: Endpoint): readonly string[] =>
    (addresses ?? []).flatMap((address) => canonicalAddress(address) ?? []);
  if (endpointsType === undefined) return around.slices.map((slice) => endpointsIn(slice, service, own));
  const access = endpointsType === 'NodeExternalIP' ? 'public' : 'private';
  const nodes = new Map(around.nodes.map((node) => [node.metadata.name, node]));
  const ofNode = ({ nodeName = '' }: Endpoint): readonly string[] => {
    const node = nodes.get(nodeName);
    return node === undefined ? [] : nodeAddresses([node], access);
  };
  return around.slices.map((slice) => endpointsIn(slice, service, ofNode));
}

function endpointsIn(
  slice: EndpointSlice,
  service: Service,
  addressesOf: (endpoint: Endpoint) => readonly string[],
): PublishedEndpoints {
  const ready = slice.addressType === 'FQDN' ? [] : (slice.endpoints ?? []).filter(isReady);
  return {
    endpoints: ready.map((endpoint) => ({
      addresses: addressesOf(endpoint),
      hostname: endpoint.hostname?.toLowerCase(),
    })),
    // Clients connect to endpoints directly: their ports are those of the slice.
    ports: exposedPorts(service, (port) => portNumberIn(slice, port)),
  };
}
