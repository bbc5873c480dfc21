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

const servicePort = struct(`${core}.ServicePort`, 'One port that a Service offers.', {
  name: optional(1, string, 'Name of the port, a DNS label; unique, and needed as soon as there are two ports.'),
  protocol: optional(2, protocol, 'TCP, UDP or SCTP.', { default: 'TCP' }),
  port: always(3, int32, 'The port clients connect to.', { required: true }),
  targetPort: optional(
    4,
    intOrString,
    'The port of the backend: a number, or the name of a container port. The same as port when left out.',
  ),
  nodePort: optional(5, int32, 'The port on every node, for NodePort and LoadBalancer. Allocated when left out.'),
  appProtocol: pointer(6, string, 'The application protocol, such as http or example.org/grpc. A hint to consumers.'),
  srvServiceName: pointer(
    100,
    string,
    'The service label of the SRV records of this port (_label._tcp). The name of the port when left out.',
  ),
});

export const sessionAffinityConfig = struct(`${core}.SessionAffinityConfig`, 'Settings of session affinity.', {
  clientIP: pointer(
    1,
    struct(`${core}.ClientIPConfig`, 'Settings of affinity by client address.', {
      timeoutSeconds: pointer(1, int32, 'How long a client stays with its backend: 1 to 86400, 10800 by default.'),
    }),
    'Settings of affinity by client address.',
  ),
});

const serviceSpec = struct(`${core}.ServiceSpec`, 'How a Service is reached, and what is behind it.', {
  ports: optional(
    1,
    listMap(servicePort, ['port', 'protocol'], { mergeKey: 'port' }),
    'The ports the Service offers. May be empty only for headless and ExternalName Services.',
  ),
  selector: optional(
    2,
    atomicMap(string),
    'The labels of the Pods behind the Service. Without one, somebody else manages the endpoints.',
  ),
  clusterIP: optional(
    3,
    string,
    'The virtual address, allocated when left out; None for a headless Service. Cannot be changed.',
  ),
  type: optional(
    4,
    oneOf('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'),
    'How the Service is exposed: ClusterIP (the default), NodePort, LoadBalancer, or ExternalName for a DNS alias.',
  ),
  externalIPs: optional(
    5,
    list(string),
    'Further addresses for which nodes accept traffic. Routing them to the nodes is up to you.',
  ),
  sessionAffinity: optional(7, oneOf('None', 'ClientIP'), 'Whether connections of one client go to one backend.'),
  loadBalancerIP: optional(8, string, 'Deprecated: an address to ask the load balancer for; providers may ignore it.'),
  loadBalancerSourceRanges: optional(9, list(string), 'The client CIDRs the load balancer admits.'),
  externalName: optional(10, string, 'The DNS name that an ExternalName Service stands for.'),
  externalTrafficPolicy: optional(
    11,
    oneOf('Cluster', 'Local'),
    'Where traffic from outside goes: to any backend (Cluster) or only to those on the node it reached (Local).',
  ),
  healthCheckNodePort: optional(
    12,
    int32,
    'The node port that tells a load balancer whether a node has backends, for externalTrafficPolicy Local.',
  ),
  publishNotReadyAddresses: optional(13, boolean, 'Publish backends whether they are ready or not.'),
  sessionAffinityConfig: pointer(14, sessionAffinityConfig, 'Settings of session affinity.'),
  ipFamilyPolicy: pointer(
    17,
    oneOf('SingleStack', 'PreferDualStack', 'RequireDualStack'),
    'How many IP families the Service has: one, two if the cluster has them, or two.',
  ),
  clusterIPs: optional(18, list(string), 'The virtual addresses, at most one a family; the first equals clusterIP.'),
  ipFamilies: optional(19, list(ipFamily), 'The IP families of the Service, the primary one first.'),
  allocateLoadBalancerNodePorts: pointer(
    20,
    boolean,
    'Whether a LoadBalancer Service gets node ports; true by default. Ports that are asked for are always given.',
  ),
  loadBalancerClass: pointer(
    21,
    string,
    'Which load balancer implementation serves this Service; the default one when left out. Cannot be changed.',
  ),
  internalTrafficPolicy: pointer(
    22,
    oneOf('Cluster', 'Local'),
    'Where traffic from inside goes: to any backend (Cluster) or only to those on its own node (Local).',
  ),
  trafficDistribution: pointer(
    23,
    string,
    'A preference among backends: PreferSameZone (or PreferClose) or PreferSameNode.',
  ),
});

const portStatus = struct(`${core}.PortStatus`, 'What became of one port of a load balancer.', {
  port: always(1, int32, 'The port of the Service.', { required: true }),
  protocol: always(2, protocol, 'The protocol of the port.', { required: true }),
  error: pointer(
    3,
    string,
    'Why the port is not served: a CamelCase word, with a domain and a slash before it if it is a provider’s own.',
  ),
});

const seedPortStatus = struct('org.fairlead.api.core.v1.PortReadiness', 'Whether one port of a load balancer works.', {
  port: always(1, int32, 'The port of the Service.', { required: true }),
  protocol: always(2, protocol, 'The protocol of the port.', { required: true }),
  ready: always(3, boolean, 'Whether the load balancer serves the port.', { required: true }),
  message: optional(4, string, 'Why not, for a person.'),
});

const loadBalancerIngress = struct(`${core}.LoadBalancerIngress`, 'One point of entry of a load balancer.', {
  ip: optional(1, string, 'The address of an IP based load balancer.'),
  hostname: optional(2, string, 'The name of a DNS based load balancer.'),
  ipMode: pointer(
    3,
    oneOf('VIP', 'Proxy'),
    'Whether traffic arrives with the load balancer’s address as destination (VIP) or the node’s (Proxy).',
  ),
  ports: optional(4, list(portStatus), 'What became of each port; all ports or none are listed.'),
  portStatuses: optional(100, list(seedPortStatus), 'What became of each port, as KEP-1435 first proposed it.'),
  message: optional(101, string, 'The state of this point of entry, for a person.'),
});

const loadBalancerStatus = struct(`${core}.LoadBalancerStatus`, 'The state of a load balancer.', {
  ingress: optional(1, list(loadBalancerIngress), 'Where clients reach the load balancer.'),
});

const serviceStatus = struct(`${core}.ServiceStatus`, 'The last known state of a Service.', {
  loadBalancer: always(1, loadBalancerStatus, 'The state of the load balancer.'),
  conditions: optional(
    2,
    listMap(condition, ['type'], { mergeKey: 'type' }),
    'Aspects of the state, such as ports that a load balancer could not serve.',
  ),
});

/** A stable name and virtual address for a set of backends (core/v1). */
export const service = objectSchema(`${core}.Service`, 'A stable name and address for a set of backends.', {
  spec: always(2, serviceSpec, 'How the Service is reached, and what is behind it.'),
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
