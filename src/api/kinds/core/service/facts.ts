// Properties of Services that several components decide by. Each is defined here and nowhere else.
import { joinHostPort } from '../../../addresses.ts';
import type { Protocol, Service } from './schema.ts';

type Spec = Pick<Service, 'spec'>;

/** Whether the Service is an alias of a DNS name outside the cluster. */
export const isExternalName = ({ spec }: Spec): boolean => spec.type === 'ExternalName';

/** Whether the cluster IP is `None`: clients connect to the endpoints directly. */
export const isHeadless = ({ spec: { clusterIP, clusterIPs } }: Spec): boolean =>
  clusterIPs === undefined || clusterIPs.length === 0
    ? clusterIP === 'None'
    : clusterIPs.length === 1 && clusterIPs[0] === 'None';

/** Whether a cluster IP is allocated. False for headless and ExternalName Services, and before allocation. */
export const hasClusterIp = ({ spec: { clusterIP = '' } }: Spec): boolean => clusterIP !== '' && clusterIP !== 'None';

/** Whether clients outside the cluster can reach the Service. */
export const isExternallyAccessible = ({ spec }: Spec): boolean =>
  spec.type === 'NodePort' ||
  spec.type === 'LoadBalancer' ||
  (spec.type === 'ClusterIP' && spec.externalIPs !== undefined && spec.externalIPs.length > 0);

/** The protocol of a port of a Service or slice: TCP unless it is set. */
export const protocolOf = ({ protocol = 'TCP' }: { readonly protocol?: Protocol | undefined }): Protocol => protocol;

/** On a Service: the endpoints that failed the health checks of its load balancer, as `192.0.2.5:8080/TCP,…`. */
export const unhealthyAnnotation = 'loadbalancer.fairlead.dev/unhealthy-endpoints';

/** An endpoint in that annotation; the address must be canonical. */
export const endpointText = (address: string, port: number, protocol: Protocol): string =>
  `${joinHostPort(address, port)}/${protocol}`;

/** The endpoints that failed the health checks of the load balancer. */
export function unhealthyEndpoints({ metadata }: Service): ReadonlySet<string> {
  const text = metadata.annotations?.[unhealthyAnnotation] ?? '';
  return text === '' ? noEndpoints : new Set(text.split(','));
}

const noEndpoints: ReadonlySet<string> = new Set();

/** A port of a Service, Endpoints or a slice whose SRV records may have another name than the port (KEP-3241). */
interface SrvNamed {
  readonly srvServiceName?: string;
}

export const hasSrvName = ({ srvServiceName }: SrvNamed): boolean => srvServiceName !== undefined;

/** The port without that field, for servers whose gate SRVServiceName is disabled. */
export function withoutSrvName<Port extends SrvNamed>(port: Port): Omit<Port, 'srvServiceName'> {
  const { srvServiceName: _, ...rest } = port;
  return rest;
}
