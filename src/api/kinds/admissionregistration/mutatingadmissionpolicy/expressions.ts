// Compiles the expressions of a mutating policy, for its validation and for its evaluation.

import type { PolicyExpression } from '../policy-expressions.ts';
import { compileVariables } from '../policy-expressions.ts';
import type { Mutation, MutatingPolicySpec } from './schema.ts';

/** The compiled expressions of a policy; match conditions are compiled apart. */
export interface MutationExpressions {
  readonly variables: ReadonlyMap<string, PolicyExpression>;
  readonly mutations: readonly { readonly mutation: Mutation; readonly expression: PolicyExpression }[];
}

const resultTypes: Readonly<Record<string, string>> = { ApplyConfiguration: 'Object', JSONPatch: 'list(JSONPatch)' };

/** The expression of a mutation. */
export function expressionOf({ patchType, applyConfiguration, jsonPatch }: Mutation): string {
  return (patchType === 'JSONPatch' ? jsonPatch?.expression : applyConfiguration?.expression) ?? '';
}

export function compileMutations(spec: MutatingPolicySpec): MutationExpressions {
  const { variables, compile } = compileVariables(spec);
  return {
    variables,
    mutations: (spec.mutations ?? []).map((mutation) => ({
      mutation,
      expression: compile(expressionOf(mutation).trim(), [resultTypes[mutation.patchType] ?? ''], { patchTypes: true }),
    })),
  };
}
