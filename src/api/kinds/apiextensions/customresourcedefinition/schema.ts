import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  boolean,
  bytes,
  int32,
  int64,
  list,
  listMap,
  oneOf,
  optional,
  pointer,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';
import { jsonSchema } from '../../../structural/json-schema.ts';

const v1 = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';

const names = struct(`${v1}.CustomResourceDefinitionNames`, 'The names of a resource and its kind.', {
  plural: always(1, string, 'The plural name, which is part of the URL.', { required: true }),
  singular: optional(2, string, 'The singular name; default: the kind in lower case.'),
  shortNames: optional(3, list(string), 'Short names for command lines.'),
  kind: always(4, string, 'The kind, in CamelCase.', { required: true }),
  listKind: optional(5, string, 'The kind of lists; default: the kind with List.'),
  categories: optional(6, list(string), 'Groups of resources, such as all, that the resource is part of.'),
});

const scale = struct(`${v1}.CustomResourceSubresourceScale`, 'Where the fields of the scale subresource are.', {
  specReplicasPath: always(1, string, 'The path of the desired number of replicas, under .spec.', { required: true }),
  statusReplicasPath: always(2, string, 'The path of the observed number, under .status.', { required: true }),
  labelSelectorPath: pointer(3, string, 'The path of the label selector as text, under .spec or .status.'),
});

const subresources = struct(`${v1}.CustomResourceSubresources`, 'The subresources of a custom resource.', {
  status: pointer(
    1,
    struct(`${v1}.CustomResourceSubresourceStatus`, 'Enables the status subresource.', {}),
    'Enables the status subresource: writes of the object ignore the status, and writes of the status all else.',
  ),
  scale: pointer(2, scale, 'Enables the scale subresource.'),
});

const column = struct(`${v1}.CustomResourceColumnDefinition`, 'A column of tables.', {
  name: always(1, string, 'The heading.', { required: true }),
  type: always(2, string, 'integer, number, string, boolean or date.', { required: true }),
  format: optional(3, string, 'A format of OpenAPI.'),
  description: optional(4, string, 'What the column shows.'),
  priority: optional(5, int32, '0 is always shown, higher numbers only in wide tables.'),
  jsonPath: always(6, string, 'The path of the value, such as .spec.replicas.', { required: true }),
});

const version = struct(`${v1}.CustomResourceDefinitionVersion`, 'A version of a custom resource.', {
  name: always(1, string, 'The name, such as v1 or v1beta1.', { required: true }),
  served: always(2, boolean, 'Whether the version is served.', { required: true }),
  storage: always(3, boolean, 'Whether objects are stored in this version; exactly one is.', { required: true }),
  deprecated: optional(7, boolean, 'Whether requests get a warning.'),
  deprecationWarning: pointer(8, string, 'Replaces the text of that warning.'),
  schema: pointer(
    4,
    struct(`${v1}.CustomResourceValidation`, 'The schema of a version.', {
      openAPIV3Schema: pointer(1, jsonSchema, 'A structural OpenAPI v3 schema, by which objects are validated.'),
    }),
    'The schema by which objects are validated, pruned and defaulted.',
  ),
  subresources: pointer(5, subresources, 'The subresources.'),
  additionalPrinterColumns: optional(6, list(column), 'Columns of tables; default: the age.'),
  selectableFields: optional(
    9,
    list(
      struct(`${v1}.SelectableField`, 'A field that field selectors can use.', {
        jsonPath: always(1, string, 'The path of a field of type string, boolean or integer.', { required: true }),
      }),
    ),
    'Fields that field selectors can use; at most 8.',
  ),
});

const clientConfig = struct(`${v1}.WebhookClientConfig`, 'The address of a webhook, and the CAs to verify it.', {
  service: pointer(
    1,
    struct(`${v1}.ServiceReference`, 'Identifies a port of a Service.', {
      namespace: always(1, string, 'The namespace of the Service.', { required: true }),
      name: always(2, string, 'The Service.', { required: true }),
      path: pointer(3, string, 'The path of the URL that is called.'),
      port: pointer(4, int32, 'The port of the Service; default: 443.'),
    }),
    'A Service of this cluster. Excludes url.',
  ),
  caBundle: optional(2, bytes, 'CA certificates in PEM to verify the webhook with; default: those of the system.'),
  url: pointer(3, string, 'An address, https://host[:port][/path]. Excludes service.'),
});

const conversion = struct(`${v1}.CustomResourceConversion`, 'How objects are converted between versions.', {
  strategy: always(1, string, 'None (only apiVersion changes) or Webhook.', { required: true }),
  webhook: pointer(
    2,
    struct(`${v1}.WebhookConversion`, 'A webhook that converts objects.', {
      clientConfig: pointer(2, clientConfig, 'The address of the webhook.'),
      conversionReviewVersions: always(
        3,
        list(string),
        'Supported versions of ConversionReview, the preferred first.',
        {
          required: true,
        },
      ),
    }),
    'The webhook of the strategy Webhook.',
  ),
});

const spec = struct(`${v1}.CustomResourceDefinitionSpec`, 'How a custom resource is served.', {
  group: always(1, string, 'The API group.', { required: true }),
  names: always(3, names, 'The names of the resource and its kind.', { required: true }),
  scope: always(4, oneOf('Cluster', 'Namespaced'), 'Cluster or Namespaced.', { required: true }),
  versions: always(7, list(version), 'The versions.', { required: true }),
  conversion: pointer(9, conversion, 'How objects are converted between versions.'),
  preserveUnknownFields: optional(10, boolean, 'Deprecated: must be false.'),
});

const condition = struct(`${v1}.CustomResourceDefinitionCondition`, 'One aspect of the state of a definition.', {
  type: always(1, string, 'NamesAccepted, Established, Terminating or NonStructuralSchema.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastTransitionTime: optional(3, time, 'When the status last changed.'),
  reason: optional(4, string, 'The reason, as one CamelCase word.'),
  message: optional(5, string, 'The reason, as text for people.'),
  observedGeneration: optional(6, int64, 'The generation that the condition was set for.'),
});

const status = struct(`${v1}.CustomResourceDefinitionStatus`, 'The state of a definition.', {
  conditions: always(1, listMap(condition, ['type']), 'Aspects of the state.'),
  acceptedNames: always(2, names, 'The names in use, which can differ from those in the spec.'),
  storedVersions: always(3, list(string), 'All versions in which objects may be stored.'),
  observedGeneration: optional(4, int64, 'The generation that the status was set for.'),
});

/** CustomResourceDefinition of apiextensions.k8s.io/v1. */
export const customResourceDefinition = objectSchema(
  `${v1}.CustomResourceDefinition`,
  'A resource that a user adds to the API. Its name is <plural>.<group>.',
  {
    spec: always(2, spec, 'How the resource is served.', { required: true }),
    status: always(3, status, 'The state of the definition.'),
  },
);

export type CustomResourceDefinition = Infer<typeof customResourceDefinition>;
export type CrdVersion = Infer<typeof version>;
export type CrdNames = Infer<typeof names>;
export type CrdColumn = Infer<typeof column>;
export type CrdCondition = Infer<typeof condition>;
export type CrdConversion = Infer<typeof conversion>;
export type CrdScale = Infer<typeof scale>;
