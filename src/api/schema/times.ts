import { truncate } from '../text.ts';
import { rejected, wrongType } from './mismatch.ts';

const layout = '2006-01-02T15:04:05Z07:00';
const microLayout = '2006-01-02T15:04:05.000000Z07:00';
const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const microFraction = /^\.\d{6}$/;
const zeroTime = '0001-01-01T00:00:00';
const minuteMs = 60_000;

const daysIn = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
};

const isDate = (year: number, month: number, day: number): boolean =>
  month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);

const isClock = (hour: number, minute: number, second: number): boolean => hour < 24 && minute < 60 && second < 60;

/** Converts `2024-01-01T01:00:00` with an offset such as `+01:00` to UTC; undefined if the year has no longer four digits. */
function toUtc(local: string, offset: string): string | undefined {
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(4, 6));
  if (hours > 24 || minutes > 59) return undefined;
  const shift = (hours * 60 + minutes) * minuteMs * (offset.startsWith('-') ? -1 : 1);
  const shifted = new Date(Date.parse(`${local}Z`) - shift).toISOString();
  return shifted.length === 24 ? shifted.slice(0, 19) : undefined;
}

interface ParsedTime {
  /** `2024-01-01T00:00:00`, in UTC. */
  readonly seconds: string;
  /** `.123456` or ''. */
  readonly fraction: string;
}

/** Twice the length of a time with nanoseconds and an offset. */
const maxLength = 70;

function parse(text: string): ParsedTime | undefined {
  if (text.length > maxLength) return undefined;
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', offset = 'Z'] = match;
  if (!isDate(Number(year), Number(month), Number(day))) return undefined;
  if (!isClock(Number(hour), Number(minute), Number(second))) return undefined;
  const local = text.slice(0, 19);
  const seconds = offset === 'Z' ? local : toUtc(local, offset);
  return seconds === undefined ? undefined : { seconds, fraction };
}

function unparsable(text: string, expected: string): Error {
  const shown = JSON.stringify(truncate(text));
  return rejected(`parsing time ${shown} as "${expected}": cannot parse ${shown} as "2006"`);
}

/** A time as Kubernetes writes it: UTC, whole seconds. Null for Go's zero time. */
export function readTime(value: unknown): string | null {
  if (typeof value !== 'string') throw wrongType(value, 'string');
  const moment = parse(value);
  if (moment === undefined) throw unparsable(value, layout);
  return moment.seconds === zeroTime ? null : `${moment.seconds}Z`;
}

/** A time with exactly six digits of a second, in UTC. Null for Go's zero time. */
export function readMicroTime(value: unknown): string | null {
  if (typeof value !== 'string') throw wrongType(value, 'string');
  const moment = parse(value);
  if (moment === undefined) throw unparsable(value, microLayout);
  if (!microFraction.test(moment.fraction)) {
    const rest = JSON.stringify(value.slice(19));
    throw rejected(`parsing time ${JSON.stringify(value)} as "${microLayout}": cannot parse ${rest} as ".000000"`);
  }
  if (moment.seconds === zeroTime && moment.fraction === '.000000') return null;
  return `${moment.seconds}${moment.fraction}Z`;
}
