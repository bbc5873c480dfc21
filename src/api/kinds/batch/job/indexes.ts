// Sets of indexes of a Job as text: increasing numbers and intervals, such as `0,2-4`.

interface Interval {
  readonly first: number;
  readonly last: number;
}

/** How many indexes the text contains, or what is wrong with it. */
export function countIndexes(text: string, completions: number): number | string {
  if (text === '') return 0;
  let total = 0;
  let previous = -1;
  for (const part of text.split(',')) {
    const interval = parseInterval(part, completions);
    if (typeof interval === 'string') return interval;
    const { first, last } = interval;
    if (total > 0 && previous >= first) return `non-increasing order, previous: ${previous}, current: ${first}`;
    total += last - first + 1;
    previous = last;
  }
  return total;
}

/** The first index that is in both texts; malformed parts are skipped. */
export function commonIndex(one: string, other: string, completions: number): number | undefined {
  const intervalsOf = (text: string): readonly Interval[] =>
    text.split(',').flatMap((part) => {
      const interval = parseInterval(part, completions);
      return typeof interval === 'string' ? [] : [interval];
    });
  const left = intervalsOf(one);
  const right = intervalsOf(other);
  for (let at = 0, beside = 0; at < left.length && beside < right.length;) {
    const a = left[at] ?? none;
    const b = right[beside] ?? none;
    if (a.first <= b.last && b.first <= a.last) return Math.max(a.first, b.first);
    if (a.first <= b.first) at++;
    else beside++;
  }
  return undefined;
}

const none: Interval = { first: 0, last: -1 };

const quote = (text: string): string => JSON.stringify(text);

function parseInterval(text: string, completions: number): Interval | string {
  const limits = text.split('-');
  if (limits.length > 2) {
    return `the fragment ${quote(text)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  }
  const [first = '', last = first] = limits;
  for (const limit of limits) {
    if (!/^[+]?\d+$/.test(limit)) return `cannot convert string to integer for index: ${quote(limit)}`;
    if (Number(limit) >= completions) return `too large index: ${quote(limit)}`;
  }
  if (limits.length === 2 && Number(first) >= Number(last)) {
    return `non-increasing order, previous: ${Number(first)}, current: ${Number(last)}`;
  }
  return { first: Number(first), last: Number(last) };
}
