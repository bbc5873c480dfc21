// Timestamps and durations.

import type { CelFunction } from '../functions.ts';
import { define } from '../functions.ts';
import { CelError, Duration, Timestamp } from '../values.ts';
import type { Value } from '../values.ts';

const second = 1_000_000_000n;
const form = /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)$/;

/** A timestamp from RFC 3339, or from seconds since 1970. */
export function parseTimestamp(value: Value): Value {
  if (value instanceof Timestamp) return value;
  if (typeof value === 'bigint') return new Timestamp(value * second);
  const match = typeof value === 'string' && value.length < 100 ? form.exec(value) : null;
  const [, date = '', fraction = '', zone = ''] = match ?? [];
  const ms = Date.parse(date + zone.toUpperCase());
  if (match === null || Number.isNaN(ms))
    throw new CelError(`type conversion error from 'string' to 'google.protobuf.Timestamp'`);
  return new Timestamp(BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0')));
}

/** A day, such as 2026-01-31, as a timestamp. */
export const parseDay = (text: string): Value => parseTimestamp(`${text}T00:00:00Z`);

export function printTimestamp({ nanos }: Timestamp): string {
  const ms = nanos / 1_000_000n - (nanos < 0n && nanos % 1_000_000n !== 0n ? 1n : 0n);
  const text = new Date(Number(ms)).toISOString().slice(0, 19);
  const rest = String(((nanos % second) + second) % second)
    .padStart(9, '0')
    .replace(/0{1,9}$/, '');
  return `${text}${rest === '' ? '' : `.${rest}`}Z`;
}

const units: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

/** A duration in Go's syntax, such as `1h30m`, or from nanoseconds. */
export function parseDuration(value: Value): Value {
  if (value instanceof Duration) return value;
  if (typeof value === 'bigint') return new Duration(value);
  const text = typeof value === 'string' ? value : '';
  const sign = text.startsWith('-') ? -1n : 1n;
  const rest = text.replace(/^[+-]/, '');
  if (rest === '0') return new Duration(0n);
  if (text.length > 200) throw new CelError(`type conversion error from 'string' to 'google.protobuf.Duration'`);
  let nanos = 0n;
  let read = 0;
  for (const [all, whole = '', fraction = '', unit = ''] of rest.matchAll(
    /(\d{1,20})?(?:\.(\d{0,20}))?(ns|us|µs|μs|ms|s|m|h)/g,
  )) {
    if (whole === '' && fraction === '') break;
    const scale = units[unit] ?? 0;
    nanos += BigInt(whole || '0') * BigInt(scale) + BigInt(Math.trunc(Number(`0.${fraction || '0'}`) * scale));
    read += all.length;
  }
  if (read === 0 || read !== rest.length)
    throw new CelError(`type conversion error from 'string' to 'google.protobuf.Duration'`);
  return new Duration(sign * nanos);
}

export function printDuration({ nanos }: Duration): string {
  const absolute = nanos < 0n ? -nanos : nanos;
  const rest = String(absolute % second)
    .padStart(9, '0')
    .replace(/0{1,9}$/, '');
  return `${nanos < 0n ? '-' : ''}${absolute / second}${rest === '' ? '' : `.${rest}`}s`;
}

/** The fields of a moment in a time zone: UTC, an offset such as `+02:00`, or a name such as `Europe/Berlin`. */
function partsAt({ nanos }: Timestamp, zone: string): Date {
  const ms = Number(nanos / 1_000_000n);
  if (zone === '' || zone === 'UTC') return new Date(ms);
  const offset = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3]);
    return new Date(ms + (offset[1] === '-' ? -1 : 1) * minutes * 60_000);
  }
  try {
    const shown = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
    return new Date(`${shown.format(ms).replace(' ', 'T')}Z`);
  } catch {
    throw new CelError(`unknown time zone ${zone}`); // the format throws for unknown zones only
  }
}

const dayOfYear = (date: Date): number =>
  Math.floor(
    (Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()) - Date.UTC(date.getUTCFullYear(), 0, 1)) /
      86_400_000,
  );

const getters: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: dayOfYear,
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

const durationGetters: Readonly<Record<string, bigint>> = {
  getHours: 3600n * second,
  getMinutes: 60n * second,
  getSeconds: second,
  getMilliseconds: 1_000_000n,
};

export const timeFunctions: readonly CelFunction[] = [
  ...Object.entries(getters).flatMap(([name, get]) => [
    define(`timestamp.${name}(): int`, (time: Timestamp) => BigInt(get(partsAt(time, '')))),
    define(`timestamp.${name}(string): int`, (time: Timestamp, zone: string) => BigInt(get(partsAt(time, zone)))),
  ]),
  ...Object.entries(durationGetters).map(([name, unit]) =>
    define(`duration.${name}(): int`, (duration: Duration) => duration.nanos / unit),
  ),
];
