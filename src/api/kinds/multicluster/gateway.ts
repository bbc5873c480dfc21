// What the multi-cluster controller and the gateways of clusters exchange in EndpointSlices.
import { parseAddress } from '../../addresses.ts';
import { isJsonObject } from '../../schema/json-object.ts';
import type { Endpoint, EndpointSlice } from '../discovery/endpointslice/schema.ts';

/** The Service whose slices have the replicas of a cluster's gateway; it need not exist. */
export const gatewayService = { namespace: 'fairlead-system', name: 'fairlead-gateway' } as const;

/** The value of the managed-by label on slices in which replicas of a gateway register. */
export const gatewayManagedBy = 'gateway.fairlead.dev';

/** The port of a gateway for other gateways: its name in slices and Services, and its default. */
export const peerPort = { name: 'peers', number: 9443 } as const;

/** The ports of a gateway for clients in its own cluster: below those of node ports and of outgoing connections. */
export const egressPorts = { first: 20_000, last: 29_999 } as const;

/** On an imported slice whose endpoints are gateways of the importing cluster: the gateways of the source cluster, `address:port,…`. */
export const remoteGatewaysAnnotation = 'fairlead.dev/remote-gateways';

/** On the slices of a cluster's own exports: the clusters whose gateways may connect to their endpoints, comma-separated. */
export const importersAnnotation = 'fairlead.dev/importers';

/** On the slices of a cluster's own exports: the version of the PROXY protocol for connections of gateways. */
export const gatewayProxyProtocolAnnotation = 'fairlead.dev/proxy-protocol';

/** On the slice of a gateway replica: why it cannot use other clusters, as JSON: cluster → reason. */
export const gatewayProblemsAnnotation = 'fairlead.dev/gateway-problems';

/** An address and a port. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/** `192.0.2.1:9443` or `[2001:db8::1]:9443`. */
export const printPlace = ({ host, port }: Place): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** Reads what `printPlace` writes; undefined: it is something else. */
export function parsePlace(text: string): Place | undefined {
  const [, bracketed, plain = '', digits = ''] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  return parseAddress(host) === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** Comma-separated places; invalid ones are left out. */
export const parsePlaces = (text: string): readonly Place[] =>
  text.split(',').flatMap((each) => parsePlace(each.trim()) ?? []);

/** A replica of a gateway, as it registers in its cluster. */
export interface GatewayReplica {
  readonly addressType: EndpointSlice['addressType'];
  readonly endpoint: Endpoint;
  readonly place: Place;
}

/** The replicas in the slices of `gatewayService`. */
export function gatewayReplicas(slices: readonly EndpointSlice[]): readonly GatewayReplica[] {
  return slices.flatMap(({ addressType, endpoints, ports }) => {
    const port = (ports ?? []).find(({ name }) => name === peerPort.name)?.port ?? peerPort.number;
    return (endpoints ?? []).flatMap((endpoint) => {
      const [host] = endpoint.addresses ?? [];
      return host === undefined ? [] : [{ addressType, endpoint, place: { host, port } }];
    });
  });
}

/** Cluster → why a replica cannot use it, from its slice. Anything else than that in the annotation counts as none. */
export function gatewayProblemsIn({ metadata: { annotations } }: EndpointSlice): ReadonlyMap<string, string> {
  const text = annotations?.[gatewayProblemsAnnotation];
  if (text === undefined) return new Map();
  try {
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return new Map();
    return new Map(
      Object.entries(value).flatMap(([cluster, reason]) => (typeof reason === 'string' ? [[cluster, reason]] : [])),
    );
  } catch {
    return new Map();
  }
}

/** The identity of an exported service in a TLS handshake between gateways. */
export interface GatewayService {
  readonly namespace: string;
  readonly name: string;
  /** The exporting cluster. */
  readonly cluster: string;
}

/** `<service>.<namespace>.<cluster>`, the server name in the handshake. */
export const serverNameOf = ({ name, namespace, cluster }: GatewayService): string => `${name}.${namespace}.${cluster}`;

/** Reads what `serverNameOf` writes. A cluster ID may contain dots; names of Services and namespaces do not. */
export function parseServerName(text: string): GatewayService | undefined {
  const [name = '', namespace = '', ...rest] = text.split('.');
  const cluster = rest.join('.');
  return name === '' || namespace === '' || cluster === '' ? undefined : { name, namespace, cluster };
}
