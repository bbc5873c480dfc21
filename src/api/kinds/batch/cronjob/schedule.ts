// Schedules of CronJobs. The errors are those of the parser that Kubernetes uses.

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Minute, hour, day of the month, month, day of the week. */
const fieldBounds: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: days },
];

const descriptors = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

/** What is wrong with a schedule; undefined if it is valid. */
export function scheduleProblem(schedule: string): string | undefined {
  const zoned = /^(?:CRON_)?TZ=(\S*)(\s?)(.*)$/s.exec(schedule);
  if (zoned === null) return unzonedProblem(schedule);
  const [, zone = '', space = '', rest = ''] = zoned;
  if (space === '') return 'invalid schedule format: runtime error: slice bounds out of range [:-1]';
  const problem = zoneProblem(zone);
  return problem === undefined ? unzonedProblem(rest.trim()) : `provided bad location ${zone}: ${problem}`;
}

/** What is wrong with the name of a time zone; undefined if it is known. */
export function zoneProblem(zone: string): string | undefined {
  if (zone === '' || zone === 'UTC' || zone === 'Local') return undefined;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return undefined;
  } catch {
    return `unknown time zone ${zone}`;
  }
}

function unzonedProblem(schedule: string): string | undefined {
  if (schedule.startsWith('@')) return descriptorProblem(schedule);
  const fields = schedule.split(/\s+/).filter((field) => field !== '');
  if (fields.length !== fieldBounds.length) {
    return `expected exactly ${fieldBounds.length} fields, found ${fields.length}: [${fields.join(' ')}]`;
  }
  for (const [index, bounds] of fieldBounds.entries()) {
    for (const expression of (fields[index] ?? '').split(',').filter((part) => part !== '')) {
      const problem = rangeProblem(expression, bounds);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

const goDuration = /^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;

function descriptorProblem(descriptor: string): string | undefined {
  if (descriptors.includes(descriptor)) return undefined;
  const every = '@every ';
  if (!descriptor.startsWith(every)) return `unrecognized descriptor: ${descriptor}`;
  const duration = descriptor.slice(every.length);
  if (goDuration.test(duration)) return undefined;
  return `failed to parse duration ${descriptor}: time: invalid duration ${JSON.stringify(duration)}`;
}

/** `*`, `5`, `1-5`, `*\/2`, `1-5/2` or `mon`. */
function rangeProblem(expression: string, bounds: Bounds): string | undefined {
  const [range = '', stepText, ...moreSteps] = expression.split('/');
  const [low = '', high, ...moreLimits] = range.split('-');
  const isAny = low === '*' || low === '?';
  const start = isAny ? bounds.min : parseNumber(low, bounds);
  if (typeof start === 'string') return start;
  if (!isAny && moreLimits.length > 0) return `too many hyphens: ${expression}`;
  const limit = isAny ? bounds.max : high === undefined ? start : parseNumber(high, bounds);
  if (typeof limit === 'string') return limit;
  if (moreSteps.length > 0) return `too many slashes: ${expression}`;
  const step = stepText === undefined ? 1 : parseNumber(stepText);
  if (typeof step === 'string') return step;
  const end = stepText !== undefined && high === undefined ? bounds.max : limit;
  if (start < bounds.min) return `beginning of range (${start}) below minimum (${bounds.min}): ${expression}`;
  if (end > bounds.max) return `end of range (${end}) above maximum (${bounds.max}): ${expression}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${expression}`;
  return step === 0 ? `step of range should be a positive number: ${expression}` : undefined;
}

function parseNumber(text: string, { names = [], min }: Pick<Bounds, 'names' | 'min'> = { min: 0 }): number | string {
  const index = names.indexOf(text.toLowerCase());
  if (index >= 0) return index + min;
  if (!/^[-+]?\d+$/.test(text)) {
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  }
  const value = Number(text);
  return value < 0 ? `negative number (${value}) not allowed: ${text}` : value;
}
