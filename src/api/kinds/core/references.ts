// References to objects and to their keys and fields.
import type { Infer } from '../../schema/infer.ts';
import { atomic, optional, string, struct, always, int32, pointer, quantity } from '../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

export const localObjectReference = atomic(
  struct(`${core}.LocalObjectReference`, 'Identifies an object in the same namespace.', {
    name: optional(1, string, 'Name of the object.', { default: '' }),
  }),
);

export const typedLocalObjectReference = atomic(
  struct(`${core}.TypedLocalObjectReference`, 'Identifies an object of a given kind in the same namespace.', {
    apiGroup: pointer(1, string, 'Group of the kind; absent for the core group.'),
    kind: always(2, string, 'Kind of the object.', { required: true }),
    name: always(3, string, 'Name of the object.', { required: true }),
  }),
);

export const typedObjectReference = struct(
  `${core}.TypedObjectReference`,
  'Identifies an object of a given kind, possibly in another namespace.',
  {
    apiGroup: pointer(1, string, 'Group of the kind; absent for the core group.'),
    kind: always(2, string, 'Kind of the object.', { required: true }),
    name: always(3, string, 'Name of the object.', { required: true }),
    namespace: pointer(4, string, 'Namespace of the object, when it is another one.'),
  },
);

export const objectFieldSelector = atomic(
  struct(`${core}.ObjectFieldSelector`, 'Picks a field of the Pod itself.', {
    apiVersion: optional(1, string, 'Version of the schema that fieldPath is written in.'),
    fieldPath: always(2, string, 'The field, such as metadata.name.', { required: true }),
  }),
);

export const resourceFieldSelector = atomic(
  struct(`${core}.ResourceFieldSelector`, 'Picks a resource limit or request of a container.', {
    containerName: optional(1, string, 'The container; required in volumes, optional in environment variables.'),
    resource: always(2, string, 'The resource, such as limits.cpu.', { required: true }),
    divisor: always(3, quantity, 'The unit of the result.'),
  }),
);

export const keyToPath = struct(`${core}.KeyToPath`, 'Places one key at a path inside a volume.', {
  key: always(1, string, 'The key to place.', { required: true }),
  path: always(2, string, 'Where to place it, relative to the volume.', { required: true }),
  mode: pointer(3, int32, 'File mode bits, instead of the volume’s default.'),
});

/** A reference to any object, in endpoints and events. */
export const objectReference = atomic(
  struct('io.k8s.api.core.v1.ObjectReference', 'Identifies an object.', {
    kind: optional(1, string, 'Kind of the object.'),
    namespace: optional(2, string, 'Namespace of the object.'),
    name: optional(3, string, 'Name of the object.'),
    uid: optional(4, string, 'UID of the object.'),
    apiVersion: optional(5, string, 'API version of the object.'),
    resourceVersion: optional(6, string, 'Revision of the object.'),
    fieldPath: optional(7, string, 'A part of the object, such as spec.containers{web}.'),
  }),
);
export type ObjectReference = Infer<typeof objectReference>;
