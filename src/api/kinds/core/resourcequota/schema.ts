import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, atomic, list, map, optional, pointer, quantity, string, struct } from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

const scopeRequirement = struct(
  `${core}.ScopedResourceSelectorRequirement`,
  'A scope, an operator and values. The quota counts only objects that match.',
  {
    scopeName: always(1, string, 'The scope.', { required: true }),
    operator: always(2, string, 'In, NotIn, Exists or DoesNotExist.', { required: true }),
    values: optional(3, list(string), 'Values for the operator.'),
  },
);

const scopeSelector = atomic(
  struct(`${core}.ScopeSelector`, 'Selects the objects that the quota counts.', {
    matchExpressions: optional(1, list(scopeRequirement), 'Requirements that must all hold.'),
  }),
);

export const resourceQuota = objectSchema(`${core}.ResourceQuota`, 'Limits on the resources of a namespace.', {
  spec: always(
    2,
    struct(`${core}.ResourceQuotaSpec`, 'The limits.', {
      hard: optional(1, map(quantity), 'Limit of each resource.'),
      scopes: optional(2, list(string), 'The quota counts only objects that are in all scopes.'),
      scopeSelector: pointer(3, scopeSelector, 'Scopes with operators and values.'),
    }),
    'The limits.',
  ),
  status: always(
    3,
    struct(`${core}.ResourceQuotaStatus`, 'The enforced limits and their usage.', {
      hard: optional(1, map(quantity), 'The limits in force.'),
      used: optional(2, map(quantity), 'The current usage.'),
    }),
    'The enforced limits and their usage.',
  ),
});

export type ResourceQuota = Infer<typeof resourceQuota>;
