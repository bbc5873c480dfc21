import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  atomic,
  boolean,
  int32,
  list,
  map,
  oneOf,
  optional,
  pointer,
  setOf,
  string,
  struct,
} from '../../../schema/schema.ts';
import { objectReference } from '../../core/references.ts';
import { protocol } from '../../core/service/schema.ts';

const discovery = 'io.k8s.api.discovery.v1';

const endpointConditions = struct(`${discovery}.EndpointConditions`, 'The state of an endpoint.', {
  ready: pointer(1, boolean, 'Ready for traffic; default: true. Normally false while terminating.'),
  serving: pointer(2, boolean, 'Responding to requests, terminating or not; default: ready.'),
  terminating: pointer(3, boolean, 'Shutting down; default: false.'),
});

const endpointHints = struct(`${discovery}.EndpointHints`, 'Hints for topology-aware routing.', {
  forZones: optional(
    1,
    list(
      struct(`${discovery}.ForZone`, 'A zone.', { name: always(1, string, 'Name of the zone.', { required: true }) }),
    ),
    'The zones that should use this endpoint, at most 8.',
  ),
  forNodes: optional(
    2,
    list(
      struct(`${discovery}.ForNode`, 'A node.', { name: always(1, string, 'Name of the node.', { required: true }) }),
    ),
    'The nodes that should use this endpoint, at most 8.',
  ),
});

const endpoint = struct(`${discovery}.Endpoint`, 'A backend.', {
  addresses: always(1, setOf(string), 'The addresses of the backend, of the address type of the slice; 1 to 100.', {
    required: true,
  }),
  conditions: always(2, endpointConditions, 'The state of the endpoint.'),
  hostname: pointer(3, string, 'A DNS label under which headless Services publish this endpoint.'),
  targetRef: pointer(4, objectReference, 'The object of this endpoint.'),
  deprecatedTopology: optional(5, map(string), 'Topology of v1beta1. Read-only.'),
  nodeName: pointer(6, string, 'The node that hosts this endpoint.'),
  zone: pointer(7, string, 'The zone of this endpoint.'),
  hints: pointer(8, endpointHints, 'Hints for topology-aware routing.'),
});

const endpointPort = atomic(
  struct(`${discovery}.EndpointPort`, 'One port of all endpoints of a slice.', {
    name: pointer(1, string, 'The name of the Service port; unique in the slice.'),
    protocol: pointer(2, protocol, 'TCP, UDP or SCTP.'),
    port: pointer(3, int32, 'The port number; unset means all ports, to be interpreted by the consumer.'),
    appProtocol: pointer(4, string, 'The application protocol.'),
    srvServiceName: pointer(100, string, 'The service label of the SRV records of this port; the port name if unset.'),
  }),
);

/** EndpointSlice of discovery.k8s.io/v1. */
export const endpointSlice = objectSchema(
  `${discovery}.EndpointSlice`,
  'A subset of the endpoints of a Service, which the label kubernetes.io/service-name names.',
  {
    endpoints: always(2, list(endpoint), 'The endpoints, at most 1000.', { required: true }),
    ports: always(3, list(endpointPort), 'The ports of every endpoint.'),
    addressType: always(4, oneOf('IPv4', 'IPv6', 'FQDN'), 'The type of all addresses. Cannot be changed.', {
      required: true,
    }),
  },
);

export type EndpointSlice = Infer<typeof endpointSlice>;
export type Endpoint = Infer<typeof endpoint>;
export type EndpointHints = Infer<typeof endpointHints>;
export type EndpointConditions = Infer<typeof endpointConditions>;
export type EndpointPort = Infer<typeof endpointPort>;
export type AddressType = EndpointSlice['addressType'];
