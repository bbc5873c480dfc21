import { condition, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int64, list, listMap, oneOf, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { matchResources } from '../match-resources.ts';
import { paramKind, policyVariable } from '../policy-schema.ts';
import { matchCondition, registration } from '../webhook-schema.ts';

const validation = struct(`${registration}.Validation`, 'A condition that the write must meet.', {
  expression: always(
    1,
    string,
    'A CEL expression that must be true, over object, oldObject, request, params, namespaceObject, variables and authorizer.',
    { required: true },
  ),
  message: optional(2, string, 'The message of a rejection. Default: the expression.'),
  reason: pointer(3, string, 'Forbidden, Invalid (the default) or RequestEntityTooLarge.'),
  messageExpression: optional(4, string, 'A CEL expression for the message, which precedes it.'),
});

const auditAnnotation = struct(`${registration}.AuditAnnotation`, 'An annotation of the audit event.', {
  key: always(1, string, 'The key of the annotation, after the name of the policy and a slash.', { required: true }),
  valueExpression: always(2, string, 'A CEL expression for the value. Null adds no annotation.', { required: true }),
});

const spec = struct(
  `${registration}.ValidatingAdmissionPolicySpec`,
  'The writes and the conditions that they must meet.',
  {
    paramKind: pointer(1, paramKind, 'The kind of the parameters; default: the policy has none.'),
    matchConstraints: pointer(2, matchResources, 'The writes to which the policy applies.'),
    validations: optional(3, list(validation), 'The conditions. A policy has conditions or audit annotations.'),
    failurePolicy: pointer(
      4,
      oneOf('Ignore', 'Fail'),
      'How errors of expressions and parameters are handled: Ignore admits the write, Fail (the default) rejects it.',
    ),
    auditAnnotations: optional(5, list(auditAnnotation), 'Annotations of the audit event.'),
    matchConditions: optional(
      6,
      listMap(matchCondition, ['name'], { mergeKey: 'name' }),
      'CEL expressions that must all be true for the policy to apply.',
    ),
    variables: optional(
      7,
      listMap(policyVariable, ['name'], { mergeKey: 'name' }),
      'Variables, which can read those before them.',
    ),
  },
);

const expressionWarning = struct(`${registration}.ExpressionWarning`, 'A problem of an expression.', {
  fieldRef: always(2, string, 'The field of the expression.', { required: true }),
  warning: always(3, string, 'The problem.', { required: true }),
});

const status = struct(`${registration}.ValidatingAdmissionPolicyStatus`, 'The checks of the policy.', {
  observedGeneration: optional(1, int64, 'The generation this status reflects.'),
  typeChecking: pointer(
    2,
    struct(`${registration}.TypeChecking`, 'Problems of the types in expressions.', {
      expressionWarnings: optional(1, list(expressionWarning), 'The problems.'),
    }),
    'Problems of the types in expressions.',
  ),
  conditions: optional(3, listMap(condition, ['type']), 'State of the policy.'),
});

/** ValidatingAdmissionPolicy of admissionregistration.k8s.io/v1. */
export const validatingAdmissionPolicy = objectSchema(
  `${registration}.ValidatingAdmissionPolicy`,
  'Conditions in CEL that writes must meet, where a binding enables them.',
  {
    spec: optional(2, spec, 'The writes and the conditions that they must meet.'),
    status: optional(3, status, 'The checks of the policy.'),
  },
);

export type ValidatingAdmissionPolicy = Infer<typeof validatingAdmissionPolicy>;
export type PolicySpec = Infer<typeof spec>;
export type Validation = Infer<typeof validation>;
export type AuditAnnotation = Infer<typeof auditAnnotation>;
