/** The limit on fields and list items of a document, since processing takes some microseconds for each. */
export const maxValues = 100_000;

/** The document exceeds `maxValues`. */
export class TooManyValuesError extends Error {
  readonly code = 'TOO_MANY_VALUES';

  constructor() {
    super(`the limit is ${maxValues} fields and list items`);
  }
}

/** Counts the values of a document down from `maxValues`. */
export class ValueBudget {
  #left: number;

  constructor(limit: number = maxValues) {
    this.#left = limit;
  }

  get left(): number {
    return this.#left;
  }

  /** Throws a `TooManyValuesError` if fewer are left. */
  spend(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new TooManyValuesError();
  }
}
