// References to other objects, and selections of their keys and fields, that Pods and others share.
import { always, atomic, int32, optional, pointer, quantity, string, struct } from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

export const localObjectReference = atomic(
  struct(`${core}.LocalObjectReference`, 'Names an object in the same namespace.', {
    name: optional(1, string, 'Name of the object.', { default: '' }),
  }),
);

export const typedLocalObjectReference = atomic(
  struct(`${core}.TypedLocalObjectReference`, 'Names an object of a given kind in the same namespace.', {
    apiGroup: pointer(1, string, 'Group of the kind; absent for the core group.'),
    kind: always(2, string, 'Kind of the object.', { required: true }),
    name: always(3, string, 'Name of the object.', { required: true }),
  }),
);

export const typedObjectReference = struct(
  `${core}.TypedObjectReference`,
  'Names an object of a given kind, possibly in another namespace.',
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
