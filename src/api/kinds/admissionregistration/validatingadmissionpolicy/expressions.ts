// Compiles the expressions of a policy, for its validation and for its evaluation.

import type { PolicyExpression } from '../policy-expressions.ts';
import { compileVariables } from '../policy-expressions.ts';
import type { AuditAnnotation, PolicySpec, Validation } from './schema.ts';

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
  const { variables, compile } = compileVariables(spec);
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
