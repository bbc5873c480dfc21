import { ageColumn, column, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, atomic, list, map, optional, pointer, quantity, string, struct } from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

const scopeRequirement = struct(
  `${core}.ScopedResourceSelectorRequirement`,
  'A scope, an operator and values that objects must meet to be counted.',
  {
    scopeName: always(1, string, 'The scope.', { required: true }),
    operator: always(2, string, 'In, NotIn, Exists or DoesNotExist.', { required: true }),
    values: optional(3, list(string), 'Values for the operator.'),
  },
);

const scopeSelector = atomic(
  struct(`${core}.ScopeSelector`, 'Which objects are counted.', {
    matchExpressions: optional(1, list(scopeRequirement), 'Requirements that must all hold.'),
  }),
);

/** Limits of what a namespace may hold. Stored and shown; nothing here counts or refuses. */
const resourceQuota = objectSchema(`${core}.ResourceQuota`, 'Limits of what a namespace may hold.', {
  spec: always(
    2,
    struct(`${core}.ResourceQuotaSpec`, 'The limits.', {
      hard: optional(1, map(quantity), 'The most there may be of each resource.'),
      scopes: optional(2, list(string), 'Scopes that objects must be in to be counted.'),
      scopeSelector: pointer(3, scopeSelector, 'Scopes with operators and values.'),
    }),
    'The limits.',
  ),
  status: always(
    3,
    struct(`${core}.ResourceQuotaStatus`, 'The limits in force and what is used of them.', {
      hard: optional(1, map(quantity), 'The limits in force.'),
      used: optional(2, map(quantity), 'What is used.'),
    }),
    'The limits in force and what is used of them.',
  ),
});

export type ResourceQuota = Infer<typeof resourceQuota>;

// Quotas are not enforced: the kind exists so that `kubectl describe namespace` and quota manifests work.
export const resourceQuotaKind = defineKind<ResourceQuota>({
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  shortNames: ['quota'],
  namespaced: true,
  schema: resourceQuota,
  hasStatus: true,
  deleteReturns: 'object',
  columns: [
    nameColumn,
    column('Request', 'What is used and allowed.', (object) => usage(object, (name) => !name.startsWith('limits.'))),
    column('Limit', 'What is used and allowed of limits.', (object) =>
      usage(object, (name) => name.startsWith('limits.')),
    ),
    ageColumn,
  ],
  prepareForCreate: (object) => ({ ...object, status: {} }),
  nameErrors: subdomainName,
});

function usage({ status: { hard = {}, used = {} } }: ResourceQuota, isShown: (name: string) => boolean): string {
  const names = Object.keys(hard).filter(isShown).sort();
  return names.map((name) => `${name}: ${used[name] ?? 0}/${hard[name] ?? 0}`).join(', ');
}
