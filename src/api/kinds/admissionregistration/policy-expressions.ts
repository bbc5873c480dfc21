// The variables of an admission policy, and the expressions that can read them.

import type { CelType } from '../../cel/cel-type.ts';
import { dyn } from '../../cel/cel-type.ts';
import type { Compiled, Declared } from './expressions.ts';
import { compileAdmission } from './expressions.ts';
import type { ParamKind, PolicyVariable } from './policy-schema.ts';

/** An expression of a policy with its text. */
export type PolicyExpression = Compiled & { readonly text: string };

/** Compiles the variables of a policy, each of which can read those before it, with the types of objects if they are known. */
export function compileVariables(
  {
    paramKind,
    variables: given = [],
  }: { readonly paramKind?: ParamKind; readonly variables?: readonly PolicyVariable[] },
  typed: Pick<Declared, 'object' | 'params'> = {},
): {
  readonly variables: ReadonlyMap<string, PolicyExpression>;
  /** Compiles an expression that can read all variables. */
  readonly compile: (text: string, types: readonly string[], declared?: Declared) => PolicyExpression;
} {
  const params = paramKind !== undefined;
  const types = new Map<string, CelType>();
  const variables = new Map<string, PolicyExpression>();
  const compile = (text: string, results: readonly string[], declared: Declared = {}): PolicyExpression => ({
    text,
    ...compileAdmission(text, { params, authorizer: true, variables: types, ...typed, ...declared }, results),
  });
  for (const { name, expression } of given) {
    const compiled = compile(expression, []);
    variables.set(name, compiled);
    types.set(name, compiled.program?.type ?? dyn);
  }
  return { variables, compile };
}
