// Words for numbers.

/** Such as `1 error`, `2 errors`. */
export const countText = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

const timeFormat = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** The time of day, as in `14:03:59`. */
export const timeText = (ms: number): string => (Number.isNaN(ms) ? '' : timeFormat.format(ms));
