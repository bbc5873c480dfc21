// The CEL rules of structural schemas: compiled once per schema, estimated, and evaluated for objects.

import { CelCheckError, compileExpression } from '../cel/compile.ts';
import type { Program } from '../cel/compile.ts';
import { Scope } from '../cel/node.ts';
import type { CelType } from '../cel/cel-type.ts';
import { maxRequestBytes, optionalOf } from '../cel/cel-type.ts';
import type { Value } from '../cel/values.ts';
import { CelError, CostLimitError, Optional } from '../cel/values.ts';
import type { FieldError } from '../field-errors.ts';
import { duplicate, forbiddenField, invalidValue, required } from '../field-errors.ts';
import { equalJson } from '../schema/equal-json.ts';
import { isJsonObject } from '../schema/json-object.ts';
import { celTypeOf, celValueOf, minBytes, withTypeAndNames } from './cel-types.ts';
import type { Correlated } from './correlate.ts';
import { correlatedField, correlatedItems } from './correlate.ts';
import { findField, printSteps } from './field-path.ts';
import type { JsonSchema, ValidationRule } from './json-schema.ts';
import { anyPart, itemsOf, propertyOf, valuesOf } from './json-schema.ts';

/** Kubernetes' limits: one expression, and all expressions of an object. */
const maxExpressionCost = 1_000_000;
const maxObjectCost = 10_000_000;
const maxMessageBytes = 5 * 1024;

/** A rule that is compiled, or why it cannot be. */
interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program: Program | undefined;
  readonly problem: string | undefined;
  readonly message: Program | undefined;
  readonly messageProblem: string | undefined;
  readonly usesOldSelf: boolean;
  /** How many values of the schema fit into the largest request. */
  readonly maxCount: number;
}

// A schema validates many objects.
const compiledRules = new WeakMap<JsonSchema, readonly CompiledRule[]>();

/** The compiled rules of a schema itself, without those of its parts. */
export function rulesOf(schema: JsonSchema, isResource: boolean): readonly CompiledRule[] {
  const rules = schema['x-kubernetes-validations'] ?? [];
  if (rules.length === 0) return [];
  const known = compiledRules.get(schema);
  if (known !== undefined) return known;
  const type = celTypeOf(isResource ? withTypeAndNames(schema) : schema);
  const maxCount = Math.floor(maxRequestBytes / (minBytes(schema) + 1));
  const compiled = rules.map((rule): CompiledRule => {
    if (type === undefined) {
      const problem = 'rules cannot read values of this schema';
      return {
        rule,
        program: undefined,
        problem,
        message: undefined,
        messageProblem: undefined,
        usesOldSelf: false,
        maxCount,
      };
    }
    return { rule, ...compileRule(rule, type), maxCount };
  });
  compiledRules.set(schema, compiled);
  return compiled;
}

function compileRule(rule: ValidationRule, self: CelType): Omit<CompiledRule, 'rule' | 'maxCount'> {
  const variables = new Map([
    ['self', self],
    ['oldSelf', rule.optionalOldSelf === true ? optionalOf(self) : self],
  ]);
  const [program, problem] = compiled(rule.rule, variables, 'bool');
  const [message, messageProblem] =
    (rule.messageExpression ?? '') === '' || program === undefined
      ? [undefined, undefined]
      : compiled(rule.messageExpression ?? '', variables, 'string');
  return { program, problem, message, messageProblem, usesOldSelf: program?.used.has('oldSelf') === true };
}

function compiled(
  text: string,
  variables: ReadonlyMap<string, CelType>,
  expected: 'bool' | 'string',
): readonly [Program | undefined, string | undefined] {
  try {
    const program = compileExpression(text, variables);
    if (program.type.name === expected || (program.type.name === 'dyn' && expected === 'bool')) {
      return program.type.name === expected ? [program, undefined] : [undefined, notA(expected)];
    }
    return [undefined, notA(expected)];
  } catch (error) {
    if (error instanceof CelCheckError) return [undefined, `compilation failed: ${error.message}`];
    throw error;
  }
}

const notA = (type: 'bool' | 'string'): string =>
  type === 'bool' ? 'cel expression must evaluate to a bool' : 'messageExpression must evaluate to a string';

/** Whether the schema or a part of it has rules. */
export const hasRules = anyPart((schema) => (schema['x-kubernetes-validations'] ?? []).length > 0);

/** The evaluation of all rules for one object. */
interface Evaluation {
  readonly errors: FieldError[];
  left: number;
}

interface Place {
  readonly value: unknown;
  readonly schema: JsonSchema;
  readonly path: string;
  readonly isResource: boolean;
  readonly old: Correlated | undefined;
  /** Whether the nearest part that has an old value is unchanged: then its errors are ignored. */
  readonly isUnchanged: () => boolean;
}

/** The errors of the rules of a schema for an object; `old` is the object that it replaces. */
export function ruleErrors(
  value: unknown,
  schema: JsonSchema,
  {
    path = '',
    old,
    isResource = true,
  }: { readonly path?: string; readonly old?: Correlated | undefined; readonly isResource?: boolean } = {},
): FieldError[] {
  if (!hasRules(schema)) return [];
  const evaluation: Evaluation = { errors: [], left: maxObjectCost };
  const isUnchanged = (): boolean => old !== undefined && equalJson(old.value, value);
  evaluate({ value, schema, path, isResource, old, isUnchanged }, evaluation);
  return evaluation.errors;
}

function evaluate(place: Place, evaluation: Evaluation): void {
  const { value, schema, path, old } = place;
  if (value === null || value === undefined || !hasRules(schema)) return;
  evaluateRules(place, evaluation);
  if (evaluation.left < 0) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items === undefined || !hasRules(items)) return;
    const oldOf = correlatedItems(old, value, schema);
    for (const [index, item] of (value as readonly unknown[]).entries()) {
      evaluateBelow(place, { value: item, schema: items, path: `${path}[${index}]`, old: oldOf(item) }, evaluation);
      if (evaluation.left < 0) return;
    }
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      const property = propertyOf(schema, name);
      const below = property ?? valuesOf(schema);
      if (below === undefined || !hasRules(below)) continue;
      const at = property === undefined ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
      const before = correlatedField(old, value, name, schema);
      evaluateBelow(place, { value: value[name], schema: below, path: at, old: before }, evaluation);
      if (evaluation.left < 0) return;
    }
  }
}

function evaluateBelow(
  parent: Place,
  below: Pick<Place, 'value' | 'schema' | 'path' | 'old'>,
  evaluation: Evaluation,
): void {
  const { value, schema, old } = below;
  const isUnchanged = old === undefined ? parent.isUnchanged : (): boolean => equalJson(old.value, value);
  evaluate({ ...below, isUnchanged, isResource: schema['x-kubernetes-embedded-resource'] === true }, evaluation);
}

const pathOf = (path: string): string => (path === '' ? '<nil>' : path);

const ruleText = ({ rule, message = '' }: ValidationRule): string => (message === '' ? rule.trim() : message.trim());

function evaluateRules({ value, schema, path, isResource, old, isUnchanged }: Place, evaluation: Evaluation): void {
  const rules = rulesOf(schema, isResource);
  if (rules.length === 0) return;
  const full = isResource ? withTypeAndNames(schema) : schema;
  const fail = (why: string): void => {
    evaluation.errors.push(invalidValue(pathOf(path), schema.type ?? '', why));
  };
  const self = valueOrError(() => celValueOf(value, full));
  const before = old === undefined ? undefined : valueOrError(() => celValueOf(old.value, full));
  const variables = new Map<string, Value>();
  for (const compiledRule of rules) {
    const { rule, program, problem, usesOldSelf } = compiledRule;
    if (program === undefined) {
      fail(`rule compile error: ${problem ?? ''}`);
      continue;
    }
    if (usesOldSelf && before === undefined && rule.optionalOldSelf !== true) continue;
    if (self instanceof CelError || before instanceof CelError) {
      fail(`${self instanceof CelError ? self.message : 'invalid old value'} evaluating rule: ${ruleText(rule)}`);
      continue;
    }
    if (variables.size === 0) variables.set('self', self);
    if (rule.optionalOldSelf === true) variables.set('oldSelf', new Optional(before));
    else if (before !== undefined) variables.set('oldSelf', before);
    const outcome = run(program, variables, evaluation);
    if (outcome === budgetSpent) {
      fail('validation failed due to running out of cost budget, no further validation rules will be run');
      return;
    }
    if (outcome instanceof CostLimitError) {
      evaluation.left = -1;
      fail(
        `'${outcome.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${ruleText(rule)}`,
      );
      return;
    }
    if (outcome instanceof CelError) {
      const isOverload = outcome.message.startsWith('no such overload');
      fail(
        isOverload
          ? `'${outcome.message}': call arguments did not match a supported operator, function or macro signature for rule: ${ruleText(rule)}`
          : `${outcome.message} evaluating rule: ${ruleText(rule)}`,
      );
      continue;
    }
    if (outcome === true || (!usesOldSelf && isUnchanged())) continue;
    const detail = messageOf(compiledRule, variables, evaluation);
    evaluation.errors.push(
      failure(rule, value, { path: failurePath(rule, schema, path), detail, isScalar: typeof value !== 'object' }),
    );
    if (evaluation.left < 0) return;
  }
}

function valueOrError(read: () => Value): Value | CelError {
  try {
    return read();
  } catch (error) {
    if (error instanceof CelError) return error;
    throw error;
  }
}

const budgetSpent = Symbol('the budget of the object is spent');

/** The result of an expression, its error, or that the budget of the object is spent. */
function run(
  program: Program,
  variables: ReadonlyMap<string, Value>,
  evaluation: Evaluation,
): Value | CelError | CostLimitError | typeof budgetSpent {
  const scope = new Scope(variables, maxExpressionCost);
  try {
    const result = program.run(scope);
    evaluation.left -= Math.ceil(scope.spent);
    return evaluation.left < 0 ? budgetSpent : result;
  } catch (error) {
    evaluation.left -= Math.ceil(scope.spent);
    if (error instanceof CelError || error instanceof CostLimitError) return evaluation.left < 0 ? budgetSpent : error;
    if (error instanceof RangeError) return new CelError('the expression nests too deeply'); // the stack overflowed
    throw error;
  }
}

/** The text of the message expression, or if it has none or fails, the message of the rule. */
function messageOf(
  { rule, message }: CompiledRule,
  variables: ReadonlyMap<string, Value>,
  evaluation: Evaluation,
): string {
  const given = message === undefined ? undefined : run(message, variables, evaluation);
  if (typeof given === 'string') {
    const text = given.trim();
    if (text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= maxMessageBytes) return text;
  }
  const { message: fixed = '' } = rule;
  return fixed === '' ? `failed rule: ${rule.rule.trim()}` : fixed.trim();
}

function failurePath({ fieldPath = '' }: ValidationRule, schema: JsonSchema, path: string): string {
  const found = fieldPath === '' ? undefined : findField(fieldPath, schema);
  return found === undefined || 'problem' in found ? path : printSteps(path, found.steps);
}

function failure(
  { reason }: ValidationRule,
  value: unknown,
  { path, detail, isScalar }: { readonly path: string; readonly detail: string; readonly isScalar: boolean },
): FieldError {
  const at = pathOf(path);
  switch (reason ?? 'FieldValueInvalid') {
    case 'FieldValueForbidden':
      return forbiddenField(at, detail);
    case 'FieldValueRequired':
      return required(at, detail);
    case 'FieldValueDuplicate':
      return isScalar ? duplicate(at, value) : { path: at, reason: 'FieldValueDuplicate', body: 'Duplicate value' };
    default:
      // As in Kubernetes, objects and lists are not printed.
      return isScalar
        ? invalidValue(at, value, detail)
        : { path: at, reason: 'FieldValueInvalid', body: `Invalid value: ${detail}` };
  }
}
