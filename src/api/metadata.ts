import type { Infer } from './schema/infer.ts';
import type { FieldMap, Field, StructSchema, StringSchema } from './schema/schema.ts';
import {
  always,
  atomic,
  boolean,
  int64,
  json,
  list,
  listMap,
  map,
  optional,
  pointer,
  setOf,
  string,
  struct,
  time,
} from './schema/schema.ts';

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const ownerReference = atomic(
  struct(
    `${meta}.OwnerReference`,
    'Identifies an object that owns this one, in the same namespace or cluster-scoped.',
    {
      kind: always(1, string, 'Kind of the owner.', { required: true }),
      name: always(3, string, 'Name of the owner.', { required: true }),
      uid: always(4, string, 'UID of the owner.', { required: true }),
      apiVersion: always(5, string, 'API version of the owner.', { required: true }),
      controller: pointer(6, boolean, 'Whether the owner is the managing controller.'),
      blockOwnerDeletion: pointer(
        7,
        boolean,
        'Whether a foreground deletion of the owner waits until this object is gone.',
      ),
    },
  ),
);

const managedFieldsEntry = struct(
  `${meta}.ManagedFieldsEntry`,
  'The fields that one manager has set through one operation.',
  {
    manager: optional(1, string, 'The workflow that manages these fields.'),
    operation: optional(2, string, 'How they were set: Apply or Update.'),
    apiVersion: optional(3, string, 'The version of the resource that this set of fields applies to.'),
    time: pointer(4, time, 'When this entry last changed.'),
    fieldsType: optional(6, string, 'The format of fieldsV1; always FieldsV1.'),
    fieldsV1: pointer(7, json, 'The set of fields as a trie.'),
    subresource: optional(8, string, 'The subresource through which they were set; empty for the object itself.'),
  },
);

export const objectMeta = struct(
  `${meta}.ObjectMeta`,
  'Metadata of every stored object: its name, labels and history.',
  {
    name: optional(1, string, 'Unique within a namespace among objects of one kind. Cannot be changed.'),
    generateName: optional(2, string, 'A prefix from which the server makes a unique name when name is empty.'),
    namespace: optional(3, string, 'The space in which name must be unique. Cannot be changed.'),
    selfLink: optional(4, string, 'Deprecated and never set.'),
    uid: optional(5, string, 'Distinguishes objects that had the same name at different times. Set by the server.'),
    resourceVersion: optional(
      6,
      string,
      'The revision of the last change. Send it with an update to detect conflicts; use it to start a watch.',
    ),
    generation: optional(7, int64, 'Counts changes of the desired state. Set by the server.'),
    creationTimestamp: optional(8, time, 'CreationTimestamp is a timestamp of the creation, set by the server.'),
    deletionTimestamp: pointer(9, time, 'When the object will be removed. Set by the server on a graceful deletion.'),
    deletionGracePeriodSeconds: pointer(10, int64, 'How many seconds the object may take to terminate.'),
    labels: optional(11, map(string), 'Keys and values to organise and select objects.'),
    annotations: optional(12, map(string), 'Keys and values for tools; not usable in selectors.'),
    ownerReferences: optional(
      13,
      listMap(ownerReference, ['uid'], { mergeKey: 'uid' }),
      'The objects this one depends on; when all are deleted, this one is collected.',
    ),
    finalizers: optional(
      14,
      setOf(string, 'merge'),
      'Tasks to complete before the object is removed; each remover deletes its entry.',
    ),
    managedFields: optional(17, list(managedFieldsEntry), 'Which manager set which fields. Kept by the server.'),
  },
);

export type ObjectMeta = Infer<typeof objectMeta>;
export type OwnerReference = Infer<typeof ownerReference>;
export type ManagedFieldsEntry = Infer<typeof managedFieldsEntry>;

/** The fields of objects of every kind. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

// A type and not an interface: only types have the index signature that a FieldMap requires.
type KindFields = {
  readonly kind: Field<StringSchema, 'optional'>;
  readonly apiVersion: Field<StringSchema, 'optional'>;
  readonly metadata: Field<typeof objectMeta, 'always'>;
};

/** The top-level schema of a kind: kind, apiVersion and metadata, then `fields`. */
export const objectSchema = <const Fields extends FieldMap>(
  name: string,
  description: string,
  fields: Fields,
  options: { readonly open?: boolean } = {},
): StructSchema<KindFields & Fields> =>
  struct(
    name,
    description,
    {
      kind: optional(0, string, 'The kind of the object, in CamelCase. Cannot be changed.'),
      apiVersion: optional(0, string, 'APIVersion defines the group and version of this kind.'),
      metadata: always(1, objectMeta, "Standard object's metadata."),
      ...fields,
    },
    options,
  );

export const condition = struct(`${meta}.Condition`, 'One aspect of the state of an object.', {
  type: always(1, string, 'Which aspect, in CamelCase or a domain-prefixed name.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  observedGeneration: optional(3, int64, 'The generation that the condition was set for.'),
  lastTransitionTime: always(4, time, 'When the status last changed.', { required: true }),
  reason: always(5, string, 'The reason, as one CamelCase word.', { required: true }),
  message: always(6, string, 'The reason, as text for people.', { required: true }),
});
export type Condition = Infer<typeof condition>;

export const labelSelectorRequirement = struct(
  `${meta}.LabelSelectorRequirement`,
  'A key, an operator and values that a label must meet.',
  {
    key: always(1, string, 'The label key.', { required: true }),
    operator: always(2, string, 'In, NotIn, Exists or DoesNotExist.', { required: true }),
    values: optional(3, list(string), 'The values for In and NotIn.'),
  },
);

export const labelSelector = atomic(
  struct(`${meta}.LabelSelector`, 'Selects objects by their labels; all conditions must hold.', {
    matchLabels: optional(1, map(string), 'Labels that must be present with these values.'),
    matchExpressions: optional(2, list(labelSelectorRequirement), 'Requirements that must hold.'),
  }),
);
