// What expressions are compiled to.

import type { Run } from './functions.ts';
import { CelSyntaxError } from './syntax.ts';
import type { CelType } from './cel-type.ts';
import type { Value } from './values.ts';
import { CelError, CostLimitError } from './values.ts';

/** The state of an expression that runs: its variables and its budget. */
export class Scope implements Run {
  readonly variables: ReadonlyMap<string, Value>;
  readonly locals: Value[] = [];
  #left: number;
  #spent = 0;

  constructor(variables: ReadonlyMap<string, Value>, budget: number) {
    this.variables = variables;
    this.#left = budget;
  }

  get spent(): number {
    return this.#spent;
  }

  spend(cost: number): void {
    this.#left -= cost;
    this.#spent += cost;
    if (this.#left < 0) throw new CostLimitError();
  }
}

/** A part of an expression. */
export interface Node {
  readonly type: CelType;
  /** The largest cost, from the sizes of the types. */
  readonly cost: number;
  readonly run: (scope: Scope) => Value;
}

/** The declared variables: those of the rule, and those of the macros around a part. */
export interface Environment {
  readonly variables: ReadonlyMap<string, CelType>;
  /** name → type and slot */
  readonly locals: ReadonlyMap<string, { readonly type: CelType; readonly slot: number }>;
  /** Records that a variable is used. */
  readonly used: Set<string>;
  /** Whether expressions can construct `Object` and `JSONPatch`, as those of mutations do. */
  readonly patchTypes: boolean;
}

/** An error at a part of an expression. */
export const fail = (message: string, { at }: { readonly at: number }): CelSyntaxError =>
  new CelSyntaxError(message, at);

/** The value of a condition. */
export function truth(value: Value): boolean {
  if (typeof value !== 'boolean') throw new CelError('no such overload');
  return value;
}
