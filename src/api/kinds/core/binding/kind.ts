import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always } from '../../../schema/schema.ts';
import { objectReference } from '../references.ts';

const binding = objectSchema('io.k8s.api.core.v1.Binding', 'Assigns a Pod to a node.', {
  target: always(2, objectReference, 'The node.', { required: true }),
});

export type Binding = Infer<typeof binding>;

/** The body of `pods/NAME/binding`. It has no path of its own. */
export const bindingKind = defineKind<Binding>({
  group: '',
  version: 'v1',
  kind: 'Binding',
  plural: 'bindings',
  namespaced: true,
  schema: binding,
  stored: false,
});
