import { condition, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  atomicMap,
  boolean,
  int32,
  intOrString,
  list,
  listMap,
  oneOf,
  optional,
  pointer,
  string,
  struct,
} from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

export const protocol = oneOf('TCP', 'UDP', 'SCTP');
export const ipFamily = oneOf('IPv4', 'IPv6');

const servicePort = struct(`${core}.ServicePort`, 'A port of a Service.', {
  name: optional(1, string, 'Name of the port, a DNS label; unique, and required if there are several ports.'),
  protocol: optional(2, protocol, 'TCP, UDP or SCTP.', { default: 'TCP' }),
  port: always(3, int32, 'The port clients connect to.', { required: true }),
  targetPort: optional(
    4,
    intOrString,
    'The port of the backend: a number, or the name of a container port. Default: port.',
  ),
  nodePort: optional(5, int32, 'The port on every node, for NodePort and LoadBalancer. Allocated if unset.'),
  appProtocol: pointer(6, string, 'The application protocol, such as http or example.org/grpc. A hint to consumers.'),
  srvServiceName: pointer(
    100,
    string,
    'The service label of the SRV records of this port (_label._tcp). The name of the port if unset.',
  ),
});

export const sessionAffinityConfig = struct(`${core}.SessionAffinityConfig`, 'Settings of session affinity.', {
  clientIP: pointer(
    1,
    struct(`${core}.ClientIPConfig`, 'Settings of affinity by client address.', {
      timeoutSeconds: pointer(1, int32, 'Seconds of affinity after the last request: 1 to 86400; default: 10800.'),
    }),
    'Settings of affinity by client address.',
  ),
});

const serviceSpec = struct(`${core}.ServiceSpec`, 'The addresses, ports and backends of a Service.', {
  ports: optional(
    1,
    listMap(servicePort, ['port', 'protocol'], { mergeKey: 'port' }),
    'The ports of the Service. May be empty only for headless and ExternalName Services.',
  ),
  selector: optional(
    2,
    atomicMap(string),
    'The labels of the Pods that are backends. Without a selector the endpoints are not managed by the cluster.',
  ),
  clusterIP: optional(
    3,
    string,
    'The virtual address, allocated if unset; None for a headless Service. Cannot be changed.',
  ),
  type: optional(
    4,
    oneOf('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'),
    'How the Service is exposed: ClusterIP (the default), NodePort, LoadBalancer, or ExternalName for a DNS alias.',
  ),
  externalIPs: optional(
    5,
    list(string),
    'Further addresses for which nodes accept traffic. They are not routed to the nodes by the cluster.',
  ),
  sessionAffinity: optional(7, oneOf('None', 'ClientIP'), 'Whether connections of one client go to one backend.'),
  loadBalancerIP: optional(
    8,
    string,
    'Deprecated: the requested address of the load balancer; providers may ignore it.',
  ),
  loadBalancerSourceRanges: optional(9, list(string), 'CIDRs of clients that may use the load balancer.'),
  externalName: optional(10, string, 'The DNS name that an ExternalName Service is an alias of.'),
  externalTrafficPolicy: optional(
    11,
    oneOf('Cluster', 'Local'),
    'Backends of external traffic: all (Cluster), or only those on the node that received it (Local).',
  ),
  healthCheckNodePort: optional(
    12,
    int32,
    'The node port for health checks of nodes by a load balancer, for externalTrafficPolicy Local.',
  ),
  publishNotReadyAddresses: optional(13, boolean, 'Whether to publish backends that are not ready.'),
  sessionAffinityConfig: pointer(14, sessionAffinityConfig, 'Settings of session affinity.'),
  ipFamilyPolicy: pointer(
    17,
    oneOf('SingleStack', 'PreferDualStack', 'RequireDualStack'),
    'How many IP families the Service has: one, two if the cluster has them, or two.',
  ),
  clusterIPs: optional(18, list(string), 'The virtual addresses, at most one per family; the first equals clusterIP.'),
  ipFamilies: optional(19, list(ipFamily), 'The IP families of the Service, the primary one first.'),
  allocateLoadBalancerNodePorts: pointer(
    20,
    boolean,
    'Whether node ports are allocated for a LoadBalancer Service; default: true. Requested ports are always allocated.',
  ),
  loadBalancerClass: pointer(
    21,
    string,
    'Which load balancer implementation serves this Service; the default one if unset. Cannot be changed.',
  ),
  internalTrafficPolicy: pointer(
    22,
    oneOf('Cluster', 'Local'),
    'Backends of internal traffic: all (Cluster), or only those on the node of the client (Local).',
  ),
  trafficDistribution: pointer(23, string, 'Preferred backends: PreferSameZone (or PreferClose) or PreferSameNode.'),
});

const portStatus = struct(`${core}.PortStatus`, 'State of one port of a load balancer.', {
  port: always(1, int32, 'The port of the Service.', { required: true }),
  protocol: always(2, protocol, 'The protocol of the port.', { required: true }),
  error: pointer(
    3,
    string,
    'Why the port is not served: a CamelCase word, with a domain prefix if it is specific to a provider.',
  ),
});

const portReadiness = struct('org.fairlead.api.core.v1.PortReadiness', 'State of one port of a load balancer.', {
  port: always(1, int32, 'The port of the Service.', { required: true }),
  protocol: always(2, protocol, 'The protocol of the port.', { required: true }),
  ready: always(3, boolean, 'Whether the load balancer serves the port.', { required: true }),
  message: optional(4, string, 'Human-readable reason if it does not.'),
});

const loadBalancerIngress = struct(`${core}.LoadBalancerIngress`, 'One ingress point of a load balancer.', {
  ip: optional(1, string, 'The address of an IP based load balancer.'),
  hostname: optional(2, string, 'The name of a DNS based load balancer.'),
  ipMode: pointer(
    3,
    oneOf('VIP', 'Proxy'),
    'Whether the destination of arriving traffic is the address of the load balancer (VIP) or of the node (Proxy).',
  ),
  ports: optional(4, list(portStatus), 'State of each port; lists all ports or none.'),
  portStatuses: optional(100, list(portReadiness), 'State of each port, in the first proposal of KEP-1435.'),
  message: optional(101, string, 'Human-readable state of this ingress point.'),
});

const loadBalancerStatus = struct(`${core}.LoadBalancerStatus`, 'The state of a load balancer.', {
  ingress: optional(1, list(loadBalancerIngress), 'The addresses of the load balancer.'),
});

const serviceStatus = struct(`${core}.ServiceStatus`, 'The last known state of a Service.', {
  loadBalancer: always(1, loadBalancerStatus, 'The state of the load balancer.'),
  conditions: optional(
    2,
    listMap(condition, ['type'], { mergeKey: 'type' }),
    'Conditions, such as ports that a load balancer cannot serve.',
  ),
});

/** Service of core/v1. */
export const service = objectSchema(`${core}.Service`, 'A stable name and address for a set of backends.', {
  spec: always(2, serviceSpec, 'The addresses, ports and backends of the Service.'),
  status: always(3, serviceStatus, 'The last known state. Written by the system.'),
});

export type Service = Infer<typeof service>;
export type ServiceSpec = Infer<typeof serviceSpec>;
export type ServicePort = Infer<typeof servicePort>;
export type ServiceStatus = Infer<typeof serviceStatus>;
export type LoadBalancerStatus = Infer<typeof loadBalancerStatus>;
export type LoadBalancerIngress = Infer<typeof loadBalancerIngress>;
export type PortStatus = Infer<typeof portStatus>;
export type Protocol = Infer<typeof protocol>;
export type IpFamily = Infer<typeof ipFamily>;
