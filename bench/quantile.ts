/** The value below which a share of all values, 0 to 1, lies; NaN if there are none. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;

/** The median. */
export const median = (values: readonly number[]): number => quantile(values, 0.5);
