import { RE2JS } from 're2js';

import type { JsonSchema } from './json-schema.ts';

/** A regular expression in the syntax of RE2, whose matching takes time linear in the text. */
export interface LinearPattern {
  /** Whether a part of the text matches. */
  matches(text: string): boolean;
  /** The leftmost matches that do not overlap, at most `limit`. */
  findAll(text: string, limit: number): readonly string[];
}

/** The error of an expression that is not valid in RE2. */
export class PatternError extends Error {}

/** Compiles a pattern. Throws a `PatternError`. */
export function compilePattern(pattern: string): LinearPattern {
  const compiled = parse(pattern);
  return {
    matches: (text) => compiled.matcher(text).find(),
    findAll(text, limit) {
      const matcher = compiled.matcher(text);
      const found: string[] = [];
      while (found.length < limit && matcher.find()) found.push(matcher.group() ?? '');
      return found;
    },
  };
}

function parse(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    throw new PatternError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

// A schema validates many values.
const patterns = new WeakMap<JsonSchema, LinearPattern>();

/** The compiled pattern of a schema, undefined if it has none. Throws a `PatternError`. */
export function patternOf(schema: JsonSchema): LinearPattern | undefined {
  if (schema.pattern === undefined) return undefined;
  const known = patterns.get(schema);
  if (known !== undefined) return known;
  const compiled = compilePattern(schema.pattern);
  patterns.set(schema, compiled);
  return compiled;
}
