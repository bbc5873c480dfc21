import assert from 'node:assert/strict';
import { test } from 'node:test';

import { nextTime, parseSchedule } from './times.ts';

const cases: readonly (readonly [schedule: string, after: string, want: string, zone?: string])[] = [
  ['* * * * *', '2026-01-01T00:00:30Z', '2026-01-01T00:01:00Z'],
  ['*/15 * * * *', '2026-01-01T00:15:00Z', '2026-01-01T00:30:00Z'],
  ['5/20 * * * *', '2026-01-01T00:26:00Z', '2026-01-01T00:45:00Z'],
  ['0 3 * * *', '2026-01-01T03:00:00Z', '2026-01-02T03:00:00Z'],
  ['0 0 31 * *', '2026-01-31T00:00:00Z', '2026-03-31T00:00:00Z'],
  ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00Z'],
  ['0 0 * * mon-fri', '2026-01-02T00:00:00Z', '2026-01-05T00:00:00Z'],
  ['0 0 13 * fri', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
  ['0 0 1 JAN,jul ?', '2026-01-01T00:00:00Z', '2026-07-01T00:00:00Z'],
  ['@hourly', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z'],
  ['@weekly', '2026-01-01T00:00:00Z', '2026-01-04T00:00:00Z'],
  ['@every 1h30m', '2026-01-01T00:00:00Z', '2026-01-01T01:30:00Z'],
  ['0 3 * * *', '2026-01-01T00:00:00Z', '2026-01-01T02:00:00Z', 'Europe/Berlin'],
  ['0 3 * * *', '2026-07-01T00:00:00Z', '2026-07-01T01:00:00Z', 'Europe/Berlin'],
  ['CRON_TZ=America/New_York 0 12 * * *', '2026-01-01T00:00:00Z', '2026-01-01T17:00:00Z'],
  // The clock skips 02:30 on this day, and repeats it on the other.
  ['30 2 * * *', '2026-03-28T12:00:00Z', '2026-03-30T00:30:00Z', 'Europe/Berlin'],
  ['30 2 * * *', '2026-10-24T12:00:00Z', '2026-10-25T00:30:00Z', 'Europe/Berlin'],
];
for (const [schedule, after, want, zone] of cases) {
  test(`${schedule}${zone === undefined ? '' : ` in ${zone}`} after ${after} is due at ${want}`, () => {
    const time = nextTime(parseSchedule(schedule, zone), Date.parse(after));
    assert.equal(time === undefined ? undefined : new Date(time).toISOString().replace('.000', ''), want);
  });
}

test('a schedule that is never due has no next time', () => {
  assert.equal(nextTime(parseSchedule('0 0 30 2 *'), Date.parse('2026-01-01T00:00:00Z')), undefined);
});
