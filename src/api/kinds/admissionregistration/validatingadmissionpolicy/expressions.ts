// Compiles the expressions of a policy, for its validation and for its evaluation.

import type { CelType } from '../../../cel/cel-type.ts';
import { dyn } from '../../../cel/cel-type.ts';
import type { Compiled, Declared } from '../expressions.ts';
import { compileAdmission } from '../expressions.ts';
import type { AuditAnnotation, PolicySpec, Validation } from './schema.ts';

/** An expression of a policy with its text. */
export type PolicyExpression = Compiled & { readonly text: string };

/** The compiled expressions of a policy; match conditions are compiled apart. */
export interface PolicyExpressions {
  readonly variables: ReadonlyMap<string, PolicyExpression>;
  readonly validations: readonly {
    readonly validation: Validation;
    readonly condition: PolicyExpression;
    readonly message: PolicyExpression | undefined;
  }[];
  readonly auditAnnotations: readonly { readonly annotation: AuditAnnotation; readonly value: PolicyExpression }[];
}

export function compilePolicy(spec: PolicySpec): PolicyExpressions {
  const params = spec.paramKind !== undefined;
  const types = new Map<string, CelType>();
  const variables = new Map<string, PolicyExpression>();
  const compile = (text: string, types: Parameters<typeof compileAdmission>[2], declared: Declared = {}) => ({
    text,
    ...compileAdmission(text, { params, authorizer: true, variables: available, ...declared }, types),
  });
  // The variables before an expression; the map grows while they are compiled.
  const available: ReadonlyMap<string, CelType> = types;
  for (const { name, expression } of spec.variables ?? []) {
    const compiled = compile(expression, []);
    variables.set(name, compiled);
    types.set(name, compiled.program?.type ?? dyn);
  }
  return {
    variables,
    validations: (spec.validations ?? []).map((validation) => ({
      validation,
      condition: compile(validation.expression, ['bool']),
      message:
        (validation.messageExpression ?? '') === ''
          ? undefined
          : compile(validation.messageExpression ?? '', ['string'], { authorizer: false }),
    })),
    auditAnnotations: (spec.auditAnnotations ?? []).map((annotation) => ({
      annotation,
      value: compile(annotation.valueExpression.trim(), ['string', 'null_type', 'dyn']),
    })),
  };
}
