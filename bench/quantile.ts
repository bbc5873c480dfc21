/** The value that a share of all values, 0 to 1, is below; NaN of none. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;

/** The value in the middle. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);
