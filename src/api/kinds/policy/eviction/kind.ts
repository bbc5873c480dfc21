import { deleteOptions } from '../../../delete-options.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { pointer } from '../../../schema/schema.ts';

const eviction = objectSchema(
  'io.k8s.api.policy.v1.Eviction',
  'Deletes a Pod if its PodDisruptionBudget allows that.',
  {
    deleteOptions: pointer(2, deleteOptions, 'Options of the deletion.'),
  },
);

export type Eviction = Infer<typeof eviction>;

/** The body of `pods/NAME/eviction`. It has no path of its own. */
export const evictionKind = defineKind<Eviction>({
  group: 'policy',
  version: 'v1',
  kind: 'Eviction',
  plural: 'evictions',
  namespaced: true,
  schema: eviction,
  stored: false,
});
