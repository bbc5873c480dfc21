// Columns of `kubectl get` that many kinds share, and the formats of ages, labels and long lists in columns.
import type { Column } from './kind.ts';
import type { ApiObject } from './metadata.ts';

export interface ColumnOptions {
  /** Default: string, which Kubernetes uses for most counts as well. */
  readonly type?: Column['type'];
  readonly format?: string;
  /** Shown only with `-o wide`. */
  readonly wide?: boolean;
  /** See Column. */
  readonly path?: string;
}

/** Defines a column; `cell` gets the object and the current time in milliseconds. */
export const column = <T extends ApiObject>(
  name: string,
  description: string,
  cell: (object: T, now: number) => string | number | boolean | null,
  options: ColumnOptions = {},
): Column<T> => ({
  name,
  type: options.type ?? 'string',
  format: options.format ?? '',
  description,
  priority: options.wide ? 1 : 0,
  ...(options.path === undefined ? {} : { path: options.path }),
  cell,
});

export const nameColumn: Column = column(
  'Name',
  'Unique within a namespace among objects of one kind. Cannot be changed.',
  ({ metadata }) => metadata.name ?? '',
  { format: 'name' },
);

const creation = 'When the object was created. Set by the server.';

export const ageColumn: Column = column('Age', creation, ({ metadata }, now) => age(metadata.creationTimestamp, now));

/** The age column of a custom resource, whose type is `date`. */
export const customAgeColumn: Column = { ...ageColumn, type: 'date', path: '.metadata.creationTimestamp' };

/** The second column of kinds that have no printer in Kubernetes. */
export const createdAtColumn: Column = column(
  'Created At',
  creation,
  ({ metadata }) => metadata.creationTimestamp ?? '<unknown>',
  { type: 'date' },
);

/** The time since `timestamp`, with two or three significant figures: `45s`, `3m10s`, `5d2h`. */
export function age(timestamp: string | undefined, now: number): string {
  if (timestamp === undefined || timestamp === '') return '<unknown>';
  const then = Date.parse(timestamp);
  return Number.isNaN(then) ? '<unknown>' : duration(now - then);
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** A duration as Kubernetes prints it. Slightly negative durations are 0s, since clocks differ. */
export function duration(milliseconds: number): string {
  const whole = (unit: number): number => Math.trunc(milliseconds / unit);
  const pair = (big: number, bigUnit: string, small: number, smallUnit: string): string => {
    const rest = whole(small) % (big / small);
    return `${whole(big)}${bigUnit}${rest === 0 ? '' : `${rest}${smallUnit}`}`;
  };
  if (whole(second) < -1) return '<invalid>';
  if (whole(second) <= 0) return '0s';
  if (milliseconds < 2 * minute) return `${whole(second)}s`;
  if (milliseconds < 10 * minute) return pair(minute, 'm', second, 's');
  if (milliseconds < 3 * hour) return `${whole(minute)}m`;
  if (milliseconds < 8 * hour) return pair(hour, 'h', minute, 'm');
  if (milliseconds < 2 * day) return `${whole(hour)}h`;
  if (milliseconds < 8 * day) return pair(day, 'd', hour, 'h');
  if (milliseconds < 2 * year) return `${whole(day)}d`;
  if (milliseconds < 8 * year) return pair(year, 'y', day, 'd');
  return `${whole(year)}y`;
}

/** The first `max` items, and the number of the others: `a,b,c + 2 more...`. */
export function truncatedList(max: number, items: readonly string[]): string {
  const shown = items.slice(0, max).join(',');
  return items.length > max ? `${shown} + ${items.length - max} more...` : shown;
}

/** Labels as `a=1,b=2`, sorted by key; `<none>` if there are none. */
export function labelsText(labels: Readonly<Record<string, string>> | null | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',');
}
