// When the schedule of a CronJob is due.

/** A schedule: the minutes, hours, days and months at which it is due, or a fixed interval. */
export type Schedule = CalendarSchedule | { readonly everyMs: number };

interface CalendarSchedule {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** If both are restricted, one of them has to match. */
  readonly isAnyDay: boolean;
  readonly isAnyWeekday: boolean;
  readonly timeZone: string;
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const descriptors: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** Parses a valid schedule; `timeZone` is that of the CronJob. */
export function parseSchedule(text: string, timeZone = 'UTC'): Schedule {
  const zoned = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/s.exec(text);
  if (zoned !== null) return parseSchedule(zoned[2] ?? '', zoned[1]);
  if (text.startsWith('@every '))
    return { everyMs: Math.max(1000, Math.floor(durationMs(text.slice(7)) / 1000) * 1000) };
  const fields = (descriptors[text] ?? text).trim().split(/\s+/);
  const [minute = '*', hour = '*', day = '*', month = '*', weekday = '*'] = fields;
  return {
    minutes: parseField(minute, 0, 59),
    hours: parseField(hour, 0, 23),
    days: parseField(day, 1, 31),
    months: parseField(month, 1, 12, months),
    weekdays: parseField(weekday, 0, 6, weekdays),
    isAnyDay: isAny(day),
    isAnyWeekday: isAny(weekday),
    timeZone: timeZone === 'Local' ? 'UTC' : timeZone,
  };
}

const isAny = (field: string): boolean => field.split(',').some((part) => /^[*?]/.test(part));

/** `*`, `5`, `1-5`, `*\/2`, `1-5/2`, `mon`, and lists of these. */
function parseField(text: string, min: number, max: number, names: readonly string[] = []): ReadonlySet<number> {
  const numberOf = (word: string): number => {
    const index = names.indexOf(word.toLowerCase());
    return index >= 0 ? index + min : Number(word);
  };
  const values = new Set<number>();
  for (const part of text.split(',').filter((each) => each !== '')) {
    const [range = '', stepText] = part.split('/');
    const [low = '', high] = range.split('-');
    const isAll = low === '*' || low === '?';
    const start = isAll ? min : numberOf(low);
    const end =
      isAll || (high === undefined && stepText !== undefined) ? max : high === undefined ? start : numberOf(high);
    for (let value = start; value <= end; value += Number(stepText ?? 1)) values.add(value);
  }
  return values;
}

const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** A duration of Go, such as `1h30m`. */
function durationMs(text: string): number {
  let [sum, number, unit] = [0, '', ''];
  const finish = (): void => {
    sum += Number(number) * (units[unit] ?? 0);
    [number, unit] = ['', ''];
  };
  for (const character of text) {
    if (!/[\d.]/.test(character)) unit += character;
    else {
      if (unit !== '') finish();
      number += character;
    }
  }
  finish();
  return sum;
}

/** Schedules that are never due, such as February 30th, are given up after five years. */
const maxDays = 366 * 5;
const dayMs = 86_400_000;

/** The first time after `after` at which a schedule is due; undefined: never. */
export function nextTime(schedule: Schedule, after: number): number | undefined {
  if ('everyMs' in schedule) return Math.floor(after / 1000) * 1000 + schedule.everyMs;
  const local = offsetMs(schedule.timeZone, after) + after;
  let day = Math.floor(local / dayMs) * dayMs;
  for (let days = 0; days <= maxDays; days++, day += dayMs) {
    if (!isDueOn(schedule, day)) continue;
    for (const hour of sorted(schedule.hours)) {
      for (const minute of sorted(schedule.minutes)) {
        const time = instantOf(schedule.timeZone, day + hour * 3_600_000 + minute * 60_000);
        if (time !== undefined && time > after) return time;
      }
    }
  }
  return undefined;
}

const sorted = (numbers: ReadonlySet<number>): readonly number[] =>
  [...numbers].toSorted((left, right) => left - right);

function isDueOn(
  { months: inMonths, days, weekdays: onWeekdays, isAnyDay, isAnyWeekday }: CalendarSchedule,
  day: number,
): boolean {
  const date = new Date(day);
  if (!inMonths.has(date.getUTCMonth() + 1)) return false;
  const [isDay, isWeekday] = [days.has(date.getUTCDate()), onWeekdays.has(date.getUTCDay())];
  return isAnyDay || isAnyWeekday ? isDay && isWeekday : isDay || isWeekday;
}

/** The instant of a local time; undefined: the clock skips it. Of two, the first. */
function instantOf(timeZone: string, local: number): number | undefined {
  if (timeZone === 'UTC') return local;
  for (const offset of new Set([offsetMs(timeZone, local - dayMs), offsetMs(timeZone, local + dayMs)])) {
    const time = local - offset;
    if (time + offsetMs(timeZone, time) === local) return time;
  }
  return undefined;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** How far the local time of a zone is ahead of UTC. */
function offsetMs(timeZone: string, time: number): number {
  if (timeZone === 'UTC') return 0;
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(timeZone, format);
  }
  const parts = new Map(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const local = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  return local - Math.floor(time / 1000) * 1000;
}
