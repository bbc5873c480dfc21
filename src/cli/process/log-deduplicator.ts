import { setTimeout } from '../../machine/timers.ts';

/** How long repetitions of a line are counted before the count is written. */
const windowMs = 60_000;
/** Different lines with one message that are written in this time. */
const maxLinesPerMessage = 20;
/** Lines and messages whose repetitions are counted; further lines are written each time. */
const maxCounted = 1000;
const firstLevel = 40; // pino's number of `warn`

/** What is counted: a line that was written, or a message that has more lines than are written. */
interface Counted {
  /** Lines that were not written. */
  repetitions: number;
  last: string;
  timer: NodeJS.Timeout;
}

/**
 * Writes a warning or an error at its first occurrence. Repetitions within a minute are counted: then the last one is written
 * with their number as `repeated`. Lines are the same when they differ in times, durations (keys that end in `Ms`) and numbers
 * of failures only. Of different lines with one message, such as one for each of many objects, 20 are written in a minute; the
 * others are counted too, as `omitted`.
 */
export class LogDeduplicator {
  readonly #write: (line: string) => void;
  /** Line without what may differ → its repetitions. */
  readonly #lines = new Map<string, Counted>();
  /** Message → its lines that were written in this minute. */
  readonly #messages = new Map<string, Counted & { lines: number }>();

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** Takes a line of JSON as pino writes it. */
  write(line: string): void {
    const level = Number(/^\{"level":(\d+)/.exec(line)?.[1] ?? 0);
    if (level < firstLevel) return this.#write(line);
    const key = line.replace(/"time":"[^"]*"/, '').replaceAll(/"(?:\w+Ms|failures)":\d+/g, '');
    const known = this.#lines.get(key);
    if (known !== undefined) return count(known, line);
    if (this.#isOverLimit(line)) return;
    this.#write(line);
    if (this.#lines.size < maxCounted)
      this.#lines.set(key, { repetitions: 0, last: line, timer: this.#later(() => this.#closeLine(key)) });
  }

  /** Writes the counts of all lines now. */
  flush(): void {
    for (const [key, { timer }] of this.#lines) {
      clearTimeout(timer);
      this.#takeLine(key);
    }
    for (const [message, { timer }] of this.#messages) {
      clearTimeout(timer);
      this.#closeMessage(message);
    }
  }

  /** Counts a new line of a message. */
  #isOverLimit(line: string): boolean {
    const message = line.slice(line.lastIndexOf('"msg":'));
    const known = this.#messages.get(message);
    if (known === undefined) {
      if (this.#messages.size < maxCounted) {
        const timer = this.#later(() => this.#closeMessage(message));
        this.#messages.set(message, { lines: 1, repetitions: 0, last: line, timer });
      }
      return false;
    }
    if (++known.lines <= maxLinesPerMessage) return false;
    count(known, line);
    return true;
  }

  #later(close: () => void): NodeJS.Timeout {
    return setTimeout(close, windowMs).unref();
  }

  /** One line a minute while it repeats. */
  #closeLine(key: string): void {
    const known = this.#takeLine(key);
    if (known !== undefined && known.repetitions > 0)
      this.#lines.set(key, { ...known, repetitions: 0, timer: this.#later(() => this.#closeLine(key)) });
  }

  #takeLine(key: string): Counted | undefined {
    const known = this.#lines.get(key);
    this.#lines.delete(key);
    if (known !== undefined) this.#writeCount('repeated', known);
    return known;
  }

  #closeMessage(message: string): void {
    const known = this.#messages.get(message);
    this.#messages.delete(message);
    if (known !== undefined) this.#writeCount('omitted', known);
  }

  #writeCount(name: 'repeated' | 'omitted', { repetitions, last }: Counted): void {
    if (repetitions > 0) this.#write(last.replace(/\}\n$/, `,"${name}":${repetitions}}\n`));
  }
}

function count(counted: Counted, line: string): void {
  counted.repetitions++;
  counted.last = line;
}
