import type { Infer } from '../../schema/infer.ts';
import { atomic, optional, string, struct } from '../../schema/schema.ts';

/** A reference to any object, as endpoints and events use it. Applied and owned whole. */
export const objectReference = atomic(
  struct('io.k8s.api.core.v1.ObjectReference', 'Names an object.', {
    kind: optional(1, string, 'Kind of the object.'),
    namespace: optional(2, string, 'Namespace of the object.'),
    name: optional(3, string, 'Name of the object.'),
    uid: optional(4, string, 'UID of the object.'),
    apiVersion: optional(5, string, 'API version of the object.'),
    resourceVersion: optional(6, string, 'The revision that was seen.'),
    fieldPath: optional(7, string, 'A part of the object, such as spec.containers{web}.'),
  }),
);
export type ObjectReference = Infer<typeof objectReference>;
