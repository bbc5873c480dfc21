import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, atomic, int32, list, oneOf, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { protocol } from '../../core/service/schema.ts';

const networking = 'io.k8s.api.networking.v1';

const serviceBackendPort = atomic(
  struct(`${networking}.ServiceBackendPort`, 'A port of a Service, by name or by number.', {
    name: optional(1, string, 'The name of the port.'),
    number: optional(2, int32, 'The number of the port.'),
  }),
);

const typedReference = atomic(
  struct('io.k8s.api.core.v1.TypedLocalObjectReference', 'Identifies an object in the same namespace.', {
    apiGroup: pointer(1, string, 'Group of the object; the core group if unset.'),
    kind: always(2, string, 'Kind of the object.', { required: true }),
    name: always(3, string, 'Name of the object.', { required: true }),
  }),
);

const ingressBackend = struct(`${networking}.IngressBackend`, 'A backend: a Service or another resource.', {
  resource: pointer(3, typedReference, 'An object in the namespace of the Ingress. Excludes service.'),
  service: pointer(
    4,
    struct(`${networking}.IngressServiceBackend`, 'A port of a Service.', {
      name: always(1, string, 'The Service, in the namespace of the Ingress.', { required: true }),
      port: optional(2, serviceBackendPort, 'The port of the Service.'),
    }),
    'A Service. Excludes resource.',
  ),
});

const httpIngressPath = struct(`${networking}.HTTPIngressPath`, 'Routes requests for a path to a backend.', {
  path: optional(1, string, 'The path; starts with a slash.'),
  backend: always(2, ingressBackend, 'The backend of matching requests.', { required: true }),
  pathType: pointer(
    3,
    oneOf('Exact', 'Prefix', 'ImplementationSpecific'),
    'How the path is matched: exactly, by prefix of path elements, or as the controller implements it.',
    { required: true },
  ),
});

const ingressRule = struct(`${networking}.IngressRule`, 'Routes requests for a host to backends by path.', {
  host: optional(1, string, 'The host name, exact or with one leading wildcard label; all hosts if unset.'),
  http: pointer(
    1,
    struct(`${networking}.HTTPIngressRuleValue`, 'Paths and their backends.', {
      paths: always(1, list(httpIngressPath), 'The paths.', { required: true }),
    }),
    'Paths and their backends.',
    { inline: 2 },
  ),
});

const ingressTls = struct(`${networking}.IngressTLS`, 'A certificate for hosts.', {
  hosts: optional(1, list(string), 'The hosts the certificate is for.'),
  secretName: optional(2, string, 'The Secret with certificate and key.'),
});

const ingressSpec = struct(`${networking}.IngressSpec`, 'The routing rules.', {
  defaultBackend: pointer(1, ingressBackend, 'The backend of requests that match no rule.'),
  tls: optional(2, list(ingressTls), 'Certificates by host.'),
  rules: optional(3, list(ingressRule), 'Rules by host.'),
  ingressClassName: pointer(4, string, 'The IngressClass, and so the controller, that serves this Ingress.'),
});

const ingressLoadBalancerIngress = struct(
  `${networking}.IngressLoadBalancerIngress`,
  'One ingress point of an Ingress.',
  {
    ip: optional(1, string, 'The address of an IP based load balancer.'),
    hostname: optional(2, string, 'The name of a DNS based load balancer.'),
    ports: optional(
      4,
      list(
        struct(`${networking}.IngressPortStatus`, 'State of one port.', {
          port: always(1, int32, 'The port.', { required: true }),
          protocol: always(2, protocol, 'The protocol of the port.', { required: true }),
          error: pointer(3, string, 'Why the port is not served.'),
        }),
      ),
      'State of each port.',
    ),
  },
);

const ingressStatus = struct(`${networking}.IngressStatus`, 'The last known state of an Ingress.', {
  loadBalancer: always(
    1,
    struct(`${networking}.IngressLoadBalancerStatus`, 'The state of the load balancer.', {
      ingress: optional(1, list(ingressLoadBalancerIngress), 'The addresses of the Ingress.'),
    }),
    'The state of the load balancer.',
  ),
});

/** Ingress of networking.k8s.io/v1. */
export const ingress = objectSchema(
  `${networking}.Ingress`,
  'Rules that route external HTTP requests to Services. An ingress controller implements them.',
  {
    spec: always(2, ingressSpec, 'The routing rules.'),
    status: always(3, ingressStatus, 'The last known state. Written by the controller.'),
  },
);

export type Ingress = Infer<typeof ingress>;
export type IngressSpec = Infer<typeof ingressSpec>;
export type IngressRule = Infer<typeof ingressRule>;
export type IngressTls = Infer<typeof ingressTls>;
export type IngressBackend = Infer<typeof ingressBackend>;
export type HttpIngressPath = Infer<typeof httpIngressPath>;
