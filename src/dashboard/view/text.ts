// Words for numbers.

/** Such as `1 error`, `2 errors`. */
export const countText = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
