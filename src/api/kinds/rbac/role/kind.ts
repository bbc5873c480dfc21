import { createdAtColumn, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { pathSegmentName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list } from '../../../schema/schema.ts';
import { policyRule, rulesErrors, rbacGroup, rbacSchemas, withoutEmptyRules } from '../policy-rule.ts';

const role = objectSchema(`${rbacSchemas}.Role`, 'Rules that can be granted in its namespace.', {
  rules: always(2, list(policyRule), 'The rules.'),
});

export type Role = Infer<typeof role>;

/** Role of rbac.authorization.k8s.io/v1. */
export const roleKind = defineKind<Role>({
  group: rbacGroup,
  version: 'v1',
  kind: 'Role',
  plural: 'roles',
  namespaced: true,
  schema: role,
  createOnUpdate: true,
  applyDefaults: withoutEmptyRules,
  columns: [nameColumn, createdAtColumn],
  nameErrors: pathSegmentName,
  validateCreate: ({ rules }) => rulesErrors(rules, true),
  validateUpdate: ({ rules }) => rulesErrors(rules, true),
});
