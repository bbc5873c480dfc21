import type { MatchCondition } from '../../api/kinds/admissionregistration/webhook-schema.ts';
import type { Declared } from '../../api/kinds/admissionregistration/expressions.ts';
import { compileAdmission } from '../../api/kinds/admissionregistration/expressions.ts';
import type { Program } from '../../api/cel/compile.ts';
import type { Value } from '../../api/cel/values.ts';
import { evaluate, EvaluationError } from './expressions.ts';

/** Kubernetes' limit on the cost of all match conditions of a webhook or policy. */
const maxCost = 2_500_000;

/** A compiled condition; without a program if it does not compile. */
export interface CompiledCondition {
  readonly text: string;
  readonly program: Program | undefined;
  readonly problem: string;
}

/** Compiles match conditions, once for each stored configuration. */
export const compileConditions = (
  conditions: readonly MatchCondition[],
  declared: Declared = {},
): readonly CompiledCondition[] =>
  conditions.map(({ expression }) => {
    const { program, problem = '' } = compileAdmission(expression.trim(), { ...declared, authorizer: true }, ['bool']);
    return { text: expression, program, problem };
  });

/**
 * Whether all conditions are true. One that is false decides, even if another fails. A failure is an error under the
 * failure policy `Fail`, and no match otherwise.
 */
export function conditionsMatch(
  conditions: readonly CompiledCondition[],
  variables: ReadonlyMap<string, Value>,
  failurePolicy: string | undefined,
): boolean | EvaluationError {
  const budget = { left: maxCost };
  const problems: string[] = [];
  for (const { text, program, problem } of conditions) {
    try {
      if (program === undefined) throw new EvaluationError(problem);
      if (evaluate({ text, program }, variables, budget) === false) return false;
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      problems.push(error.message);
      if (error.isSpent) break;
    }
  }
  if (problems.length === 0) return true;
  if (failurePolicy === 'Ignore') return false;
  return new EvaluationError(problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`);
}
