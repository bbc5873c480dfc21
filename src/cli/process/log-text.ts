import { styleText } from 'node:util';

const levels: Readonly<Record<number, readonly [name: string, style: 'gray' | 'cyan' | 'green' | 'yellow' | 'red']>> = {
  10: ['TRACE', 'gray'],
  20: ['DEBUG', 'cyan'],
  30: ['INFO', 'green'],
  40: ['WARN', 'yellow'],
  50: ['ERROR', 'red'],
  60: ['FATAL', 'red'],
};

/** A line of the log for people: time, level, message, and keys as `key=value`; an error's stack comes below it. */
export function printLogLine(json: string, hasColors: boolean): string {
  const {
    level = 30,
    time = '',
    msg = '',
    err,
    ...rest
  } = JSON.parse(json) as {
    readonly level?: number;
    readonly time?: string;
    readonly msg?: string;
    readonly err?: { readonly message?: string; readonly stack?: string };
  }; // as pino writes it
  const [name, style] = levels[level] ?? levels[30] ?? ['INFO', 'green'];
  const shown = name.padEnd(5);
  const words = [
    time.slice(11, 23), // in UTC, as in JSON
    hasColors ? styleText(style, shown, { validateStream: false }) : shown,
    msg,
    ...Object.entries({
      ...rest,
      ...(err === undefined || err.message === msg ? {} : { err: err.message ?? err }),
    }).map(([key, value]) => `${key}=${valueText(value)}`),
  ];
  const stack = err?.stack === undefined ? '' : `${err.stack.replaceAll(/^/gm, '    ')}\n`;
  return `${words.join(' ')}\n${stack}`;
}

const valueText = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
