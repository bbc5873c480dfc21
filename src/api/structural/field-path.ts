import type { JsonSchema } from './json-schema.ts';
import { propertyOf, valuesOf } from './json-schema.ts';

/** The field that a path such as `.spec.ports` or `.spec['a.b']` refers to, or why it is not valid. */
export type FoundField =
  | { readonly schema: JsonSchema; readonly steps: readonly FieldStep[] }
  | { readonly problem: string };

export interface FieldStep {
  readonly name: string;
  /** Whether it is a declared field, as opposed to the key of a map. */
  readonly isField: boolean;
}

/** Finds the field of a path in a schema; `brackets` allows `['name']`. */
export function findField(path: string, schema: JsonSchema, brackets = true): FoundField {
  const tokens = tokensOf(path);
  const steps: FieldStep[] = [];
  let at = schema;
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] ?? '';
    let name: string;
    if (token === '[') {
      if (!brackets) return { problem: 'array notation is not allowed' };
      const quoted = tokens[index + 1];
      if (quoted === undefined) return { problem: 'unexpected end of JSON path' };
      if (quoted.length < 2 || !quoted.startsWith("'") || !quoted.endsWith("'")) {
        return { problem: `expected single quoted string but got ${quoted}` };
      }
      if (tokens[index + 2] === undefined) return { problem: 'unexpected end of JSON path' };
      if (tokens[index + 2] !== ']') return { problem: `expected ] but got ${tokens[index + 2]}` };
      name = quoted.slice(1, -1).replaceAll(/\\(.)/g, '$1');
      index += 2;
    } else if (token === '.') {
      const next = tokens[index + 1];
      if (next === undefined) return { problem: 'unexpected end of JSON path' };
      name = next;
      index++;
    } else {
      return { problem: `expected [ or . but got: ${token}` };
    }
    const isField = at.properties !== undefined;
    const found = isField ? propertyOf(at, name) : valuesOf(at);
    if (found === undefined) return { problem: 'does not refer to a valid field' };
    steps.push({ name, isField });
    at = found;
  }
  return { schema: at, steps };
}

/** Splits a path at dots and brackets, which are tokens of their own, except in quotes. */
function tokensOf(path: string): readonly string[] {
  const tokens: string[] = [];
  let start = 0;
  const finish = (end: number): void => {
    if (end > start) tokens.push(path.slice(start, end));
    start = end;
  };
  for (let at = 0; at < path.length; at++) {
    if (path[start] === "'" && at >= start) {
      if (at > start && path[at] === "'" && path[at - 1] !== '\\') finish(at + 1);
    } else if (path[at] === '.' || path[at] === '[' || path[at] === ']') {
      finish(at);
      finish(at + 1);
    }
  }
  finish(path.length);
  return tokens;
}

/** A path as errors print it: `.spec.ports` or `spec[key]`. */
export const printSteps = (base: string, steps: readonly FieldStep[]): string =>
  steps.reduce(
    (path, { name, isField }) => (isField ? (path === '' ? name : `${path}.${name}`) : `${path}[${name}]`),
    base,
  );
