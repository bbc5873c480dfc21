import type { ApiObject } from '../../api/metadata.ts';
import type { ReviewOutput } from './attributes.ts';
import type { Kind } from '../../api/kind.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import type { JsonObject } from '../patch/json-value.ts';

/**
 * Decides which of the webhooks or policies that a write called are called a second time: those that may be, if the object
 * changed after their call.
 */
export class Reinvocation {
  /** The keys of calls since the last change. */
  #called = new Set<string>();
  readonly #repeated = new Set<string>();

  /** Records a call that may be repeated. */
  record(key: string): void {
    this.#called.add(key);
  }

  /** The object has changed: recorded calls are repeated. */
  requireRepetition(): void {
    for (const key of this.#called) this.#repeated.add(key);
    this.#called = new Set();
  }

  isRepeated(key: string): boolean {
    return this.#repeated.has(key);
  }
}

/** Returns the changed JSON of an object, which has this schema. Yields between its steps. */
export type ChangeDocument = (document: JsonObject, schema: StructSchema) => Generator<void, unknown>;

/** Changes the object of a write, which was reviewed in `kind`. Throws a 500 if the result is not an object of that kind. */
export type ChangeObject = (object: ApiObject, kind: Kind, change: ChangeDocument) => Promise<ApiObject>;

/** One of the two times that policies or webhooks change the object of a write. */
export interface MutationRound {
  readonly round: 0 | 1;
  readonly output: ReviewOutput;
  readonly change: ChangeObject;
  readonly reinvocation: Reinvocation;
}

/** The object after a round, and whether the second round is necessary. */
export interface Mutated {
  readonly object: ApiObject | undefined;
  readonly isChanged: boolean;
}
