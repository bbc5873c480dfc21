import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, optional, pointer, string, struct } from '../../../schema/schema.ts';

const networking = 'io.k8s.api.networking.v1';

const parametersReference = struct(
  `${networking}.IngressClassParametersReference`,
  'Names an object with settings of the controller.',
  {
    apiGroup: pointer(1, string, 'Group of the object; the core group when left out.'),
    kind: always(2, string, 'Kind of the object.', { required: true }),
    name: always(3, string, 'Name of the object.', { required: true }),
    scope: pointer(4, string, 'Cluster (the default) or Namespace.'),
    namespace: pointer(5, string, 'Namespace of the object; required with scope Namespace.'),
  },
);

const ingressClassSpec = struct(`${networking}.IngressClassSpec`, 'Which controller serves a class.', {
  controller: optional(1, string, 'The controller, a domain-prefixed path such as example.org/ingress.'),
  parameters: pointer(2, parametersReference, 'Further settings of the controller.'),
});

/** A class of Ingresses that one controller serves (networking.k8s.io/v1). */
export const ingressClass = objectSchema(
  `${networking}.IngressClass`,
  'A class of Ingresses that one controller serves.',
  {
    spec: always(2, ingressClassSpec, 'Which controller serves the class.'),
  },
);

export type IngressClass = Infer<typeof ingressClass>;
export type IngressClassSpec = Infer<typeof ingressClassSpec>;
export type IngressClassParameters = Infer<typeof parametersReference>;
