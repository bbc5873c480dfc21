import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, atomic, int32, list, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { objectReference } from '../references.ts';
import { protocol } from '../service/schema.ts';

const core = 'io.k8s.api.core.v1';

const endpointAddress = atomic(
  struct(`${core}.EndpointAddress`, 'One address of a backend.', {
    ip: always(1, string, 'The IP address. Not loopback, link-local or link-local multicast.', { required: true }),
    targetRef: pointer(2, objectReference, 'The object that has this address.'),
    hostname: optional(3, string, 'A DNS label under which headless Services publish this address.'),
    nodeName: pointer(4, string, 'The node that hosts this address.'),
  }),
);

const endpointPort = atomic(
  struct(`${core}.EndpointPort`, 'One port of a set of backends.', {
    name: optional(1, string, 'The name of the Service port; may be empty only for a single port.'),
    port: always(2, int32, 'The port of the backends.', { required: true }),
    protocol: optional(3, protocol, 'TCP, UDP or SCTP.', { default: 'TCP' }),
    appProtocol: pointer(4, string, 'The application protocol.'),
    srvServiceName: pointer(100, string, 'The service label of the SRV records of this port; the port name if unset.'),
  }),
);

const endpointSubset = struct(`${core}.EndpointSubset`, 'Addresses that share a set of ports.', {
  addresses: optional(1, list(endpointAddress), 'The addresses that are ready.'),
  notReadyAddresses: optional(2, list(endpointAddress), 'The addresses that are not ready.'),
  ports: optional(3, list(endpointPort), 'The ports of every address.'),
});

/** Endpoints of core/v1; EndpointSlice is its successor. */
export const endpoints = objectSchema(
  `${core}.Endpoints`,
  'The addresses of the Service of the same name. Deprecated: use EndpointSlice.',
  { subsets: optional(2, list(endpointSubset), 'Every combination of addresses and ports, each once.') },
);

export type Endpoints = Infer<typeof endpoints>;
export type EndpointSubset = Infer<typeof endpointSubset>;
export type EndpointAddress = Infer<typeof endpointAddress>;
export type EndpointPort = Infer<typeof endpointPort>;
