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
  struct('io.k8s.api.core.v1.TypedLocalObjectReference', 'Names an object in the same namespace.', {
    apiGroup: pointer(1, string, 'Group of the object; the core group when left out.'),
    kind: always(2, string, 'Kind of the object.', { required: true }),
    name: always(3, string, 'Name of the object.', { required: true }),
  }),
);

const ingressBackend = struct(`${networking}.IngressBackend`, 'Where requests go: a Service or another resource.', {
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

const httpIngressPath = struct(`${networking}.HTTPIngressPath`, 'Sends requests for a path to a backend.', {
  path: optional(1, string, 'The path; starts with a slash.'),
  backend: always(2, ingressBackend, 'Where matching requests go.', { required: true }),
  pathType: pointer(
    3,
    oneOf('Exact', 'Prefix', 'ImplementationSpecific'),
    'How the path is matched: as a whole, by its elements from the start, or as the controller likes.',
    { required: true },
  ),
});

const ingressRule = struct(`${networking}.IngressRule`, 'Sends requests for a host to backends by path.', {
  host: optional(1, string, 'The host name, exact or with one leading wildcard label; all hosts when left out.'),
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

const ingressSpec = struct(`${networking}.IngressSpec`, 'Which requests go to which backends.', {
  defaultBackend: pointer(1, ingressBackend, 'Where requests go that no rule matches.'),
  tls: optional(2, list(ingressTls), 'Certificates by host.'),
  rules: optional(3, list(ingressRule), 'Rules by host.'),
  ingressClassName: pointer(4, string, 'The IngressClass, and so the controller, that serves this Ingress.'),
});

const ingressLoadBalancerIngress = struct(
  `${networking}.IngressLoadBalancerIngress`,
  'One point of entry of an Ingress.',
  {
    ip: optional(1, string, 'The address of an IP based load balancer.'),
    hostname: optional(2, string, 'The name of a DNS based load balancer.'),
    ports: optional(
      4,
      list(
        struct(`${networking}.IngressPortStatus`, 'What became of one port.', {
          port: always(1, int32, 'The port.', { required: true }),
          protocol: always(2, protocol, 'The protocol of the port.', { required: true }),
          error: pointer(3, string, 'Why the port is not served.'),
        }),
      ),
      'What became of each port.',
    ),
  },
);

const ingressStatus = struct(`${networking}.IngressStatus`, 'The last known state of an Ingress.', {
  loadBalancer: always(
    1,
    struct(`${networking}.IngressLoadBalancerStatus`, 'The state of the load balancer.', {
      ingress: optional(1, list(ingressLoadBalancerIngress), 'Where clients reach the Ingress.'),
    }),
    'The state of the load balancer.',
  ),
});

/** Rules that let outside HTTP requests reach Services (networking.k8s.io/v1). */
export const ingress = objectSchema(
  `${networking}.Ingress`,
  'Rules by which HTTP requests from outside reach Services. Serving them is the task of an ingress controller.',
  {
    spec: always(2, ingressSpec, 'Which requests go to which backends.'),
    status: always(3, ingressStatus, 'The last known state. Written by the controller.'),
  },
);

export type Ingress = Infer<typeof ingress>;
export type IngressSpec = Infer<typeof ingressSpec>;
export type IngressRule = Infer<typeof ingressRule>;
export type IngressTls = Infer<typeof ingressTls>;
export type IngressBackend = Infer<typeof ingressBackend>;
export type HttpIngressPath = Infer<typeof httpIngressPath>;
