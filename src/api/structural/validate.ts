// Validates a value against a schema with Kubernetes' errors: those of kube-openapi, as field errors.

import type { FieldError } from '../field-errors.ts';
import { invalidValue, notSupported, required, tooLong, tooMany, typeInvalid } from '../field-errors.ts';
import { equalJson } from '../schema/equal-json.ts';
import type { JsonObject } from '../schema/json-object.ts';
import { isJsonObject } from '../schema/json-object.ts';
import type { Correlated } from './correlate.ts';
import { correlatedField, correlatedItems } from './correlate.ts';
import { formatCheck } from './formats.ts';
import type { JsonSchema } from './json-schema.ts';
import { itemsOf, propertyOf, valuesOf } from './json-schema.ts';
import { patternOf } from './linear-pattern.ts';

/** The errors of a value, and how many checks were made, by which the best of several alternatives is chosen. */
interface Result {
  readonly errors: FieldError[];
  matches: number;
}

export interface SchemaValidation {
  /** The path of the value; '' for an object. */
  readonly path?: string;
  /** The value that it replaces: errors in parts that did not change are ignored. */
  readonly old?: Correlated | undefined;
}

/** The errors of a value. */
export function schemaErrors(
  value: unknown,
  schema: JsonSchema,
  { path = '', old }: SchemaValidation = {},
): FieldError[] {
  return check({ value, schema, structural: schema, path, old }).errors;
}

interface Node {
  readonly value: unknown;
  readonly schema: JsonSchema;
  /** The schema by which old values are found: `schema`, or that which contains it in `allOf`, `anyOf`, `oneOf` or `not`. */
  readonly structural: JsonSchema;
  readonly path: string;
  readonly old: Correlated | undefined;
}

function check(node: Node): Result {
  const result = checkNode(node);
  // Ratcheting: a value that is as it was may stay, even if the schema has changed.
  if (result.errors.length > 0 && node.old !== undefined && equalJson(node.old.value, node.value))
    result.errors.length = 0;
  return result;
}

function checkNode(node: Node): Result {
  const { value, schema } = node;
  const result: Result = { errors: [], matches: 1 };
  const wrongType = typeError(node);
  if (wrongType !== undefined) result.errors.push(wrongType);
  else result.matches++;
  if (value === null || value === undefined) {
    checkEnum(node, result.errors);
    return result;
  }
  checkJunctors(node, result);
  if (typeof value === 'string') checkString(node, value, result.errors);
  else if (typeof value === 'number') checkNumber(node, value, result.errors);
  else if (Array.isArray(value)) checkList(node, value, result);
  checkEnum(node, result.errors);
  if (isJsonObject(value) && schema !== undefined) checkObject(node, value, result);
  return result;
}

function merge(result: Result, other: Result): void {
  for (const error of other.errors) result.errors.push(error);
  result.matches += other.matches;
}

const nameOf = (path: string): string => (path.startsWith('.') ? path.slice(1) : path);
/** Paths of errors of the object itself are nil in Go. */
const fieldOf = (path: string): string => (nameOf(path) === '' ? '<nil>' : nameOf(path));

const invalid = ({ path, value }: Node, why: string): FieldError =>
  invalidValue(fieldOf(path), value, `${path} in body ${why}`);

/** The types that a schema allows; empty: all. */
function typesOf(schema: JsonSchema): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return schema.type === undefined ? [] : [schema.type];
}

function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function typeError({ value, schema, path }: Node): FieldError | undefined {
  const types = typesOf(schema);
  const format = schema.format !== undefined && formatCheck(schema.format) !== undefined ? schema.format : '';
  const mismatch = (expected: string, found: string): FieldError =>
    typeInvalid(fieldOf(path), found, `${path} in body must be of type ${expected}: ${JSON.stringify(found)}`);
  if (value === null || value === undefined) {
    if (types.length === 0 || schema.nullable === true) return undefined;
    return mismatch(types.join(','), 'null');
  }
  const found = jsonTypeOf(value);
  const fits = types.includes(found) || (found === 'integer' && types.includes('number'));
  if (format !== '' && found !== 'string' && found !== 'array') {
    const formats: Readonly<Record<string, string>> = { integer: 'int64', number: 'double' };
    return fits ? undefined : mismatch(format, formats[found] ?? '');
  }
  if (types.length === 0) return undefined;
  // As in Kubernetes, strings and lists with a format are left to the check of the format.
  if (format !== '' && !types.includes('number') && !types.includes('integer')) return undefined;
  return fits ? undefined : mismatch(types.join(','), found);
}

function checkEnum({ value, schema, path }: Node, errors: FieldError[]): void {
  const { enum: words } = schema;
  if (words === undefined || words.some((word) => equalJson(word, value))) return;
  const shown = words.map((word) => (typeof word === 'string' ? word : JSON.stringify(word)));
  errors.push(notSupported(fieldOf(path), value, shown));
}

function checkString(node: Node, value: string, errors: FieldError[]): void {
  const { schema, path } = node;
  const { maxLength, minLength, pattern, format } = schema;
  // As in Kubernetes, only the first of these is reported.
  if (maxLength !== undefined && isLongerThan(value, maxLength)) errors.push(tooLong(fieldOf(path), maxLength));
  else if (minLength !== undefined && minLength > 0 && !isLongerThan(value, minLength - 1)) {
    errors.push(invalid(node, `should be at least ${minLength} chars long`));
  } else if (patternOf(schema)?.matches(value) === false) {
    errors.push(invalid(node, `should match '${pattern}'`));
  }
  const isValid = format === undefined ? undefined : formatCheck(format);
  if (isValid?.(value) === false) {
    errors.push(
      typeInvalid(fieldOf(path), value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`),
    );
  }
}

/** Whether a text has more than `length` characters, by Unicode code points. */
function isLongerThan(text: string, length: number): boolean {
  if (text.length <= length) return false;
  let count = 0;
  for (const _ of text) if (++count > length) return true;
  return false;
}

function checkNumber(node: Node, value: number, errors: FieldError[]): void {
  const { maximum, exclusiveMaximum, minimum, exclusiveMinimum, multipleOf } = node.schema;
  if (maximum !== undefined && (exclusiveMaximum === true ? value >= maximum : value > maximum)) {
    errors.push(invalid(node, `should be less than ${exclusiveMaximum === true ? '' : 'or equal to '}${maximum}`));
  }
  if (minimum !== undefined && (exclusiveMinimum === true ? value <= minimum : value < minimum)) {
    errors.push(invalid(node, `should be greater than ${exclusiveMinimum === true ? '' : 'or equal to '}${minimum}`));
  }
  if (multipleOf !== undefined && multipleOf > 0 && !Number.isInteger(value / multipleOf)) {
    errors.push(invalid(node, `should be a multiple of ${multipleOf}`));
  }
}

function checkList(node: Node, list: readonly unknown[], result: Result): void {
  const { schema, structural, path, old } = node;
  const items = itemsOf(schema);
  if (items !== undefined) {
    const shape = itemsOf(structural) ?? items;
    const oldOf = correlatedItems(old, list, structural);
    list.forEach((value, index) => {
      const at = { value, schema: items, structural: shape, path: `${path}[${index}]` };
      merge(result, check({ ...at, old: oldOf(value) }));
    });
  }
  const { minItems, maxItems } = schema;
  if (minItems !== undefined && list.length < minItems) {
    result.errors.push(
      invalidValue(fieldOf(path), list.length, `${path} in body should have at least ${minItems} items`),
    );
  }
  if (maxItems !== undefined && list.length > maxItems)
    result.errors.push(tooMany(fieldOf(path), list.length, maxItems));
}

function checkObject(node: Node, object: JsonObject, result: Result): void {
  const { schema, path } = node;
  const names = Object.keys(object);
  const { minProperties, maxProperties, required: needed = [], additionalProperties } = schema;
  if (minProperties !== undefined && names.length < minProperties) {
    const why = `${path} in body should have at least ${minProperties} properties`;
    result.errors.push(invalidValue(fieldOf(path), names.length, why));
  }
  if (maxProperties !== undefined && names.length > maxProperties) {
    result.errors.push(tooMany(fieldOf(path), names.length, maxProperties));
  }
  for (const name of names) {
    const property = propertyOf(schema, name);
    if (property === undefined && additionalProperties === false) {
      result.errors.push(invalidValue(fieldOf(path), '', `${path}.${name} in body is a forbidden property`));
      continue;
    }
    const declared = property ?? valuesOf(schema);
    if (declared !== undefined) merge(result, checkField(node, object, name, declared));
  }
  for (const name of needed) if (!Object.hasOwn(object, name)) result.errors.push(required(fieldOf(`${path}.${name}`)));
}

function checkField(node: Node, object: JsonObject, name: string, schema: JsonSchema): Result {
  const { structural, path, old } = node;
  // The version is the same in both objects only because they were converted.
  const isTypeMeta = path === '' && (name === 'kind' || name === 'apiVersion');
  return check({
    value: object[name],
    schema,
    structural: propertyOf(structural, name) ?? valuesOf(structural) ?? schema,
    path: path === '' ? name : `${path}.${name}`,
    old: isTypeMeta ? undefined : correlatedField(old, object, name, structural),
  });
}

/** `allOf`, `anyOf`, `oneOf` and `not`. */
function checkJunctors(node: Node, result: Result): void {
  const { schema, path } = node;
  const nested = (inner: JsonSchema): Result => checkNode({ ...node, schema: inner });
  const problem = (why: string): FieldError => invalidValue('<nil>', '', `${JSON.stringify(path)} ${why}`);
  const { anyOf = [], oneOf = [], allOf = [], not } = schema;
  if (anyOf.length > 0) {
    const first = firstOf(anyOf.map(nested));
    if (first.valid === 0) result.errors.push(problem('must validate at least one schema (anyOf)'));
    merge(result, first.best);
  }
  if (oneOf.length > 0) {
    const first = firstOf(oneOf.map(nested));
    if (first.valid !== 1) {
      const found = first.valid === 0 ? 'Found none valid' : `Found ${first.valid} valid alternatives`;
      result.errors.push(problem(`must validate one and only one schema (oneOf). ${found}`));
    }
    merge(result, first.best);
  }
  if (allOf.length > 0) {
    const all = allOf.map(nested);
    for (const each of all) merge(result, each);
    const valid = all.filter(({ errors }) => errors.length === 0).length;
    if (valid < all.length) {
      result.errors.push(problem(`must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`));
    }
  }
  if (not !== undefined && nested(not).errors.length === 0) {
    result.errors.push(problem('must not validate the schema (not)'));
  }
}

/** The first valid result, or if there is none the one with the most successful checks. */
function firstOf(results: readonly Result[]): { readonly best: Result; readonly valid: number } {
  const valid = results.filter(({ errors }) => errors.length === 0);
  const best = valid[0] ?? results.reduce((left, right) => (right.matches > left.matches ? right : left));
  return { best, valid: valid.length };
}
