import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list, listMap, oneOf, optional, string, struct, time } from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

const namespaceCondition = struct(`${core}.NamespaceCondition`, 'A condition of a namespace.', {
  type: always(1, string, 'Type of the condition.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastTransitionTime: always(4, time, 'When the status last changed.'),
  reason: optional(5, string, 'Reason, as one CamelCase word.'),
  message: optional(6, string, 'Human-readable message.'),
});

const namespaceSpec = struct(`${core}.NamespaceSpec`, 'Finalizers of a namespace.', {
  finalizers: optional(
    1,
    list(string),
    'Finalizers that must be removed before a deleted namespace is removed. Changed only through the finalize subresource.',
  ),
});

const namespaceStatus = struct(`${core}.NamespaceStatus`, 'The phase of a namespace.', {
  phase: optional(1, oneOf('Active', 'Terminating'), 'Active or Terminating.'),
  conditions: optional(
    2,
    listMap(namespaceCondition, ['type'], { mergeKey: 'type' }),
    'What delays the termination of a namespace.',
  ),
});

export const namespace = objectSchema(`${core}.Namespace`, 'A scope for the names of objects.', {
  spec: always(2, namespaceSpec, 'Finalizers of the namespace.'),
  status: always(3, namespaceStatus, 'The phase of the namespace.'),
});

export type Namespace = Infer<typeof namespace>;
