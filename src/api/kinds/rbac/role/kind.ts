import { createdAtColumn, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { pathSegmentName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list } from '../../../schema/schema.ts';
import { rbacGroup, rbacSchemas } from '../group.ts';
import { policyRule, rulesErrors } from '../policy-rule.ts';

/** What may be done in one namespace. */
const role = objectSchema(`${rbacSchemas}.Role`, 'What may be done in one namespace, once it is bound.', {
  rules: always(2, list(policyRule), 'What the role allows.'),
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
  columns: [nameColumn, createdAtColumn],
  nameErrors: pathSegmentName,
  validateCreate: ({ rules }) => rulesErrors(rules, true),
  validateUpdate: ({ rules }) => rulesErrors(rules, true),
});
