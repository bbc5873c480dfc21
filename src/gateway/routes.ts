// What a gateway does, computed from the EndpointSlices that the multi-cluster controller writes into its cluster.
import { importKeysOf, isReady, isServing } from '../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { GatewayService, Place } from '../api/kinds/multicluster/gateway.ts';
import {
  egressPorts,
  gatewayProxyProtocolAnnotation,
  importersAnnotation,
  parsePlaces,
  remoteGatewaysAnnotation,
  serverNameOf,
} from '../api/kinds/multicluster/gateway.ts';
import { sourceClusterLabel } from '../api/kinds/multicluster/labels.ts';

export type GatewayProtocol = 'TCP' | 'UDP';

/** A service of this cluster that other clusters may use. */
export interface ExportedService {
  readonly importers: ReadonlySet<string>;
  /** `portKey` → endpoints for new connections: the ready ones, or else those that terminate and still serve. */
  readonly ports: ReadonlyMap<string, readonly Place[]>;
  readonly proxyProtocol: 'v1' | 'v2' | undefined;
}

/** A port of this gateway that leads to a service of another cluster. */
export interface Egress {
  readonly port: number;
  readonly protocol: GatewayProtocol;
  readonly service: GatewayService;
  /** The key of the port at the remote gateway. */
  readonly remotePort: string;
  readonly gateways: readonly Place[];
}

export interface Routes {
  /** `namespace/name` → the service. */
  readonly exports: ReadonlyMap<string, ExportedService>;
  /** `protocol/port` → the way to another cluster. */
  readonly egress: ReadonlyMap<string, Egress>;
}

/** A port of a service, as gateways name it to each other. */
const portKey = (protocol: string, name: string): string => `${protocol}/${name}`;

/** Computes the routes of a gateway of the cluster `own`. */
export function routesOf(slices: readonly EndpointSlice[], own: string): Routes {
  const exported = new Map<string, EndpointSlice[]>();
  const egress = new Map<string, Egress>();
  for (const slice of slices) {
    const [key] = importKeysOf(slice);
    const source = slice.metadata.labels?.[sourceClusterLabel];
    if (key === undefined || source === undefined) continue;
    if (source === own) exported.set(key, [...(exported.get(key) ?? []), slice]);
    else for (const each of egressOf(slice, key, source)) egress.set(`${each.protocol}/${each.port}`, each);
  }
  return { exports: new Map(Array.from(exported, ([key, own]) => [key, exportedService(own)])), egress };
}

function egressOf(slice: EndpointSlice, key: string, cluster: string): readonly Egress[] {
  const gateways = parsePlaces(slice.metadata.annotations?.[remoteGatewaysAnnotation] ?? '');
  if (gateways.length === 0) return [];
  const [namespace = '', name = ''] = key.split('/');
  return (slice.ports ?? []).flatMap(({ name: portName = '', protocol = 'TCP', port = 0 }) => {
    if (protocol === 'SCTP' || port < egressPorts.first || port > egressPorts.last) return [];
    return [
      { port, protocol, service: { namespace, name, cluster }, remotePort: portKey(protocol, portName), gateways },
    ];
  });
}

function exportedService(slices: readonly EndpointSlice[]): ExportedService {
  const annotation = (name: string): string | undefined =>
    slices.flatMap(({ metadata }) => metadata.annotations?.[name] ?? [])[0];
  const version = annotation(gatewayProxyProtocolAnnotation);
  return {
    importers: new Set((annotation(importersAnnotation) ?? '').split(',').filter((id) => id !== '')),
    ports: endpointsByPort(slices),
    proxyProtocol: version === 'v1' || version === 'v2' ? version : undefined,
  };
}

function endpointsByPort(slices: readonly EndpointSlice[]): ReadonlyMap<string, readonly Place[]> {
  const found = new Map<string, { readonly ready: Place[]; readonly serving: Place[] }>();
  for (const { endpoints, ports } of slices) {
    for (const { name = '', protocol = 'TCP', port } of ports ?? []) {
      if (port === undefined) continue;
      const key = portKey(protocol, name);
      const places = found.get(key) ?? { ready: [], serving: [] };
      found.set(key, places);
      for (const endpoint of endpoints ?? []) {
        const [host] = endpoint.addresses ?? [];
        if (host === undefined) continue;
        if (isReady(endpoint)) places.ready.push({ host, port });
        else if (isServing(endpoint)) places.serving.push({ host, port });
      }
    }
  }
  return new Map(Array.from(found, ([key, { ready, serving }]) => [key, ready.length > 0 ? ready : serving]));
}

/** Whether a cluster may use a service; undefined: it may. Otherwise the reason. */
export function refusal({ exports }: Routes, service: GatewayService, importer: string): string | undefined {
  const exported = exports.get(`${service.namespace}/${service.name}`);
  // One answer for both, so that a cluster cannot find out about services outside of its audience.
  return exported?.importers.has(importer) === true
    ? undefined
    : `${serverNameOf(service)} is not exported to cluster ${importer}`;
}
