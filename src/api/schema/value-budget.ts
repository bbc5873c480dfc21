/** The most fields and list items of a document: what follows decoding may take some microseconds for each. */
export const maxValues = 100_000;

/** A document with too many values. */
export class TooManyValuesError extends Error {
  readonly code = 'TOO_MANY_VALUES';

  constructor() {
    super(`the limit is ${maxValues} fields and list items`);
  }
}

/** How many values a document may still have. */
export class ValueBudget {
  #left = maxValues;

  get left(): number {
    return this.#left;
  }

  /** Throws a `TooManyValuesError` when there are not that many left. */
  spend(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new TooManyValuesError();
  }
}
