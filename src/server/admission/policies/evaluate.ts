// The decisions of a policy about a write, from its compiled expressions and their variables.

import type { PolicyExpression } from '../../../api/kinds/admissionregistration/policy-expressions.ts';
import type { PolicyExpressions } from '../../../api/kinds/admissionregistration/validatingadmissionpolicy/expressions.ts';
import type { Value } from '../../../api/cel/values.ts';
import { CelError, CelMap } from '../../../api/cel/values.ts';
import type { Budget } from '../expressions.ts';
import { evaluate, EvaluationError } from '../expressions.ts';
import type { CompiledCondition } from '../match-conditions.ts';
import { conditionsMatch } from '../match-conditions.ts';

/** Kubernetes' limits: the cost of all expressions of a policy with one parameter, and the length of a message. */
export const maxPolicyCost = 10_000_000;
const maxMessageBytes = 5 * 1024;
const maxAnnotationLength = 10 * 1024;

/** A condition that is violated, or an expression that failed. */
export interface Violation {
  readonly message: string;
  readonly reason: string;
  /** The index of the condition. */
  readonly index: number;
  readonly error: 'no_error' | 'compile_error' | 'invalid_error' | 'out_of_budget';
}

/** The result of a policy for one parameter. */
export interface PolicyResult {
  readonly violations: readonly Violation[];
  readonly annotations: readonly (readonly [key: string, value: string])[];
  /** Expressions of audit annotations that failed; they deny the write under the failure policy `Fail`. */
  readonly failedAnnotations: readonly string[];
}

const nothing: PolicyResult = { violations: [], annotations: [], failedAnnotations: [] };

/** Evaluates a policy. Yields after each expression, so that the caller can pause. */
export function* evaluatePolicy(
  { variables: declared, validations, auditAnnotations }: PolicyExpressions,
  {
    conditions,
    variables: given,
    failurePolicy,
  }: {
    readonly conditions: readonly CompiledCondition[];
    readonly variables: ReadonlyMap<string, Value>;
    readonly failurePolicy: string | undefined;
  },
): Generator<void, PolicyResult> {
  const ignoresErrors = failurePolicy === 'Ignore';
  const failed = (error: EvaluationError, index: number): Violation[] =>
    ignoresErrors ? [] : [{ message: error.message, reason: 'Invalid', index, error: errorTypeOf(error) }];
  if (conditions.length > 0) {
    const matches = conditionsMatch(conditions, given, failurePolicy);
    yield;
    if (matches instanceof EvaluationError) return { ...nothing, violations: failed(matches, 0) };
    if (!matches) return nothing;
  }
  const budget: Budget = { left: maxPolicyCost };
  const variables = withPolicyVariables(given, declared, budget);
  const run = (expression: PolicyExpression): Value => {
    if (expression.program === undefined) throw new EvaluationError(`compilation error: ${expression.problem}`);
    return evaluate({ text: expression.text, program: expression.program }, variables, budget);
  };
  const violations: Violation[] = [];
  for (const [index, { validation, condition, message }] of validations.entries()) {
    const outcome = attempt(() => run(condition));
    if (outcome instanceof EvaluationError) violations.push(...failed(outcome, index));
    else if (outcome !== true) {
      const { reason = 'Invalid', message: fixed = '', expression } = validation;
      const made = message === undefined ? undefined : attempt(() => run(message));
      const text = usableMessage(made) || fixed.trim() || `failed expression: ${expression.trim()}`;
      violations.push({ message: text, reason, index, error: 'no_error' });
    }
    yield;
  }
  const annotations: (readonly [string, string])[] = [];
  const failedAnnotations: string[] = [];
  for (const { annotation, value: expression } of auditAnnotations) {
    const value = attempt(() => run(expression));
    if (value instanceof EvaluationError) {
      if (!ignoresErrors) failedAnnotations.push(value.message);
    } else if (typeof value === 'string') {
      const text = value.trim().slice(0, maxAnnotationLength);
      if (text !== '') annotations.push([annotation.key, text]);
    } else if (value !== null) {
      const why = `valueExpression '${annotation.valueExpression}' resulted in unsupported return type`;
      failedAnnotations.push(`${why}. Return type must be either string or null.`);
    }
    yield;
  }
  return { violations, annotations, failedAnnotations };
}

function attempt(run: () => Value): Value | EvaluationError {
  try {
    return run();
  } catch (error) {
    if (error instanceof EvaluationError) return error;
    throw error;
  }
}

function errorTypeOf({ isSpent, message }: EvaluationError): Violation['error'] {
  if (isSpent) return 'out_of_budget';
  return message.startsWith('compilation error') ? 'compile_error' : 'invalid_error';
}

/** The result of a message expression, unless it is blank, too long or has line breaks. */
function usableMessage(made: Value | EvaluationError | undefined): string {
  if (typeof made !== 'string') return '';
  const text = made.trim();
  return Buffer.byteLength(text) > maxMessageBytes || text.includes('\n') ? '' : text;
}

/** The variables of expressions with those of the policy. */
export function withPolicyVariables(
  given: ReadonlyMap<string, Value>,
  declared: ReadonlyMap<string, PolicyExpression>,
  budget: Budget,
): ReadonlyMap<string, Value> {
  const variables = new Map(given);
  return variables.set('variables', new LazyVariables(declared, variables, budget));
}

/** The variables of a policy, each evaluated once, when an expression first reads it. */
class LazyVariables extends CelMap {
  readonly isObject = true;
  readonly #declared: ReadonlyMap<string, PolicyExpression>;
  readonly #outer: ReadonlyMap<string, Value>;
  readonly #budget: Budget;
  readonly #values = new Map<string, Value | EvaluationError>();

  constructor(declared: ReadonlyMap<string, PolicyExpression>, outer: ReadonlyMap<string, Value>, budget: Budget) {
    super();
    this.#declared = declared;
    this.#outer = outer;
    this.#budget = budget;
  }

  get size(): number {
    return this.#declared.size;
  }

  get(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined;
    const expression = this.#declared.get(key);
    if (expression === undefined) return undefined;
    const value = this.#values.get(key) ?? this.#evaluate(key, expression);
    if (!(value instanceof EvaluationError)) return value;
    if (value.isSpent) throw value;
    throw new CelError(`composited variable "${key}" fails to evaluate: ${value.message}`);
  }

  keys(): readonly Value[] {
    return [...this.#declared.keys()];
  }

  #evaluate(name: string, { text, program, problem }: PolicyExpression): Value | EvaluationError {
    const value =
      program === undefined
        ? new EvaluationError(`compilation error: ${problem}`)
        : attempt(() => evaluate({ text, program }, this.#outer, this.#budget));
    this.#values.set(name, value);
    return value;
  }
}
