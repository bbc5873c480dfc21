import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list, listMap, oneOf, optional, string, struct, time } from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

const namespaceCondition = struct(`${core}.NamespaceCondition`, 'One aspect of a namespace’s state.', {
  type: always(1, string, 'Which aspect.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastTransitionTime: always(4, time, 'When the status last changed.'),
  reason: optional(5, string, 'Why, in one word.'),
  message: optional(6, string, 'Why, for a person.'),
});

const namespaceSpec = struct(`${core}.NamespaceSpec`, 'What keeps a namespace from going.', {
  finalizers: optional(
    1,
    list(string),
    'Who must agree before a deleted namespace goes. Changed through finalize only.',
  ),
});

const namespaceStatus = struct(`${core}.NamespaceStatus`, 'Whether a namespace is in use or going.', {
  phase: optional(1, oneOf('Active', 'Terminating'), 'Active or Terminating.'),
  conditions: optional(
    2,
    listMap(namespaceCondition, ['type'], { mergeKey: 'type' }),
    'What holds up a namespace that is going.',
  ),
});

/** A space in which names are unique. */
export const namespace = objectSchema(`${core}.Namespace`, 'A space in which the names of objects are unique.', {
  spec: always(2, namespaceSpec, 'What keeps the namespace from going.'),
  status: always(3, namespaceStatus, 'Whether the namespace is in use or going.'),
});

export type Namespace = Infer<typeof namespace>;
