// Explains why an endpoint is used or not, for `fairlead proxy routes`.
import { protocolOf } from '../../api/kinds/core/service/facts.ts';
import type { IpFamily } from '../../api/addresses.ts';
import { familyOf } from '../../api/addresses.ts';
import type { Protocol } from '../../api/kinds/core/service/schema.ts';
import type { Candidate } from './candidates.ts';
import { isFallback } from './candidates.ts';
import { healthNote } from './health.ts';
import { importAddresses, importPorts, selectForImport } from './import.ts';
import type { ThisNode } from './options.ts';
import type { Route } from './route.ts';
import type { RouteInput } from './routes.ts';
import { routesOf } from './routes.ts';
import { clusterAddresses, selectForPort, whyUnrouted } from './service.ts';
import type { Selection } from './selection.ts';
import { zoneLabel } from '../../api/kinds/core/node/labels.ts';
import { topologyValue } from './topology.ts';
import type { UsedPort, Uses } from './uses.ts';
import { usesIn } from './uses.ts';

/** One endpoint of one port, its uses and the reason. */
export interface EndpointReason extends Uses {
  readonly portName: string;
  readonly protocol: Protocol;
  readonly address: string;
  readonly port: number;
  readonly nodeName: string | undefined;
  readonly zone: string | undefined;
  /** The cluster its slice is from; undefined: this one. */
  readonly cluster: string | undefined;
  readonly slice: string;
  readonly reason: string;
}

/** The explanation of a Service or an import. */
export interface Explanation {
  /** Why there are no routes at all. */
  readonly unrouted?: string;
  readonly endpoints: readonly EndpointReason[];
  /** Unused slices, each with the reason. */
  readonly ignoredSlices: readonly string[];
}

interface Port extends UsedPort {
  readonly selection: Selection;
}

/** Explains each endpoint; `routes` are those of the input. */
export function why(input: RouteInput, routes: readonly Route[] = routesOf(input)): Explanation {
  const unrouted = unroutedReason(input);
  if (unrouted !== undefined) return { unrouted, endpoints: [], ignoredSlices: [] };
  const endpoints = portsOf(input).flatMap((port) => {
    const usesOf = usesIn(routes, port);
    return port.selection.candidates.map((candidate): EndpointReason => {
      const uses = usesOf(candidate);
      return {
        portName: port.name,
        protocol: port.protocol,
        address: candidate.address,
        port: candidate.port,
        nodeName: candidate.nodeName,
        zone: candidate.endpoint.zone,
        cluster: candidate.cluster,
        slice: candidate.slice.metadata.name ?? '',
        ...uses,
        reason: reasonOf({ candidate, port, uses, input }),
      };
    });
  });
  return { endpoints, ignoredSlices: ignoredSlices(input, endpoints) };
}

function unroutedReason(input: RouteInput): string | undefined {
  if ('service' in input) return whyUnrouted(input.service);
  return importAddresses(input.import).length === 0 ? 'it has no address in this cluster' : undefined;
}

function portsOf(input: RouteInput): readonly Port[] {
  const families = (addresses: readonly string[]): readonly IpFamily[] => [
    ...new Set(addresses.flatMap((address) => familyOf(address) ?? [])),
  ];
  if ('service' in input) {
    const { spec } = input.service;
    return families(clusterAddresses(spec)).flatMap((family) =>
      (spec.ports ?? []).map((port) => ({
        name: port.name ?? '',
        protocol: protocolOf(port),
        family,
        selection: selectForPort(port, family, input),
      })),
    );
  }
  const { slices, node, import: source } = input;
  return families(importAddresses(source)).flatMap((family) =>
    importPorts(source).map((port) => ({
      name: port.name,
      protocol: port.protocol,
      family,
      selection: selectForImport(port, family, { ...source, slices, node }),
    })),
  );
}

/** What a reason depends on. */
interface Case {
  readonly candidate: Candidate;
  readonly port: Port;
  readonly uses: Uses;
  readonly input: RouteInput;
}

function reasonOf({ candidate, port, uses, input }: Case): string {
  const { selection } = port;
  const [isNear, isOnNode] = [selection.cluster.includes(candidate), selection.local.includes(candidate)];
  const reason = isNear ? whyUsed(candidate, selection) : whyNot(candidate, selection, input.node);
  const isUsed = uses.usedAt.length > 0;
  const kinds = [...uses.usedAt, ...uses.usedNearAt, ...uses.unusedAt];
  const checks =
    'service' in input && kinds.includes('loadBalancer')
      ? healthNote({ candidate, among: selection.candidates, service: input.service, protocol: port.protocol })
      : undefined;
  return [
    reason,
    ...(isNear && !isOnNode && hasPolicyLocal(input) ? ['not on this node, which policy Local requires'] : []),
    ...(!isNear && isOnNode && isUsed ? ['policy Local uses it'] : []),
    ...(!isNear && !isOnNode && isUsed ? ['the load balancer uses it: nearer ones do not answer it'] : []),
    ...(checks === undefined ? [] : [checks]),
  ].join('; ');
}

/** Whether it has a traffic policy Local. */
function hasPolicyLocal(input: RouteInput): boolean {
  if ('import' in input) return input.import.serviceImport?.spec?.internalTrafficPolicy === 'Local';
  const { internalTrafficPolicy, externalTrafficPolicy } = input.service.spec;
  return internalTrafficPolicy === 'Local' || externalTrafficPolicy === 'Local';
}

function whyUsed({ cluster = '', ready }: Candidate, { hints, keyed, clusterTerminates }: Selection): string {
  if (clusterTerminates && !ready) return 'terminating, but still serving, and nothing is ready';
  const key = keyed.get(cluster);
  if (key !== undefined) return key === '*' ? 'topology key *: every endpoint' : `shares this node's ${key}`;
  if (hints === 'PreferSameNode') return 'hinted to this node';
  return hints === 'PreferSameZone' ? "hinted to this node's zone" : 'ready';
}

function whyNot(candidate: Candidate, selection: Selection, node: ThisNode): string {
  const { ready, serving, terminating, cluster = '' } = candidate;
  if (!ready && !terminating) return 'not ready';
  if (!ready && !serving) return 'terminating, and no longer serving';
  const { hints, keyed, clusterTerminates } = selection;
  if (!ready && isFallback(candidate) && !clusterTerminates) return 'terminating, and others are ready';
  if (keyed.has(cluster)) {
    const key = keyed.get(cluster);
    if (key === undefined) return `no topology key of cluster ${cluster} matches this node`;
    const [value, own] = [topologyValue(candidate, key) ?? 'unknown', node.labels?.[key] ?? ''];
    if (key === '*' || value === own)
      return `other clusters have endpoints that match a topology key of cluster ${cluster} better`;
    return `its ${key} is ${value}, not this node's ${own}`;
  }
  if (hints === 'PreferSameNode') return `hinted to ${names(candidate.endpoint.hints?.forNodes)}, not to this node`;
  const zone = node.labels?.[zoneLabel] ?? '';
  return `hinted to zone ${names(candidate.endpoint.hints?.forZones)}, not to this node's ${zone}`;
}

const names = (hints: readonly { readonly name: string }[] = []): string => hints.map(({ name }) => name).join(', ');

function ignoredSlices({ slices }: RouteInput, endpoints: readonly EndpointReason[]): readonly string[] {
  const used = new Set(endpoints.map(({ slice }) => slice));
  return slices.flatMap(({ metadata: { name = '' }, addressType, endpoints: listed }) => {
    if (used.has(name) || !listed?.length) return [];
    if (addressType === 'FQDN') return [`${name}: its endpoints are names, and connections need addresses`];
    return [`${name}: no port of it has the name and protocol of a port of the Service, or its family is not in use`];
  });
}
