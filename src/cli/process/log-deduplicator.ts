import { setTimeout } from '../../machine/timers.ts';

/** How long repetitions of a line are counted before the count is written. */
const windowMs = 60_000;
/** Lines whose repetitions are counted; further lines are written each time. */
const maxLines = 1000;
const firstLevel = 40; // pino's number of `warn`

/** A line that was written, and its repetitions since. */
interface CountedLine {
  repetitions: number;
  last: string;
  timer: NodeJS.Timeout;
}

/**
 * Writes a warning or an error at its first occurrence. Repetitions within a minute are counted: then the last one is written
 * with their number as `repeated`. Lines are the same when they differ in times and durations (keys that end in `Ms`) only.
 */
export class LogDeduplicator {
  readonly #write: (line: string) => void;
  readonly #counted = new Map<string, CountedLine>();

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** Takes a line of JSON as pino writes it. */
  write(line: string): void {
    const level = Number(/^\{"level":(\d+)/.exec(line)?.[1] ?? 0);
    if (level < firstLevel) return this.#write(line);
    const key = line.replace(/"time":"[^"]*"/, '').replaceAll(/"\w+Ms":\d+/g, '');
    const known = this.#counted.get(key);
    if (known !== undefined) {
      known.repetitions++;
      known.last = line;
      return;
    }
    this.#write(line);
    if (this.#counted.size >= maxLines) return;
    this.#counted.set(key, { repetitions: 0, last: line, timer: this.#closeLater(key) });
  }

  /** Writes the counts of all lines now. */
  flush(): void {
    for (const [key, { timer }] of this.#counted) {
      clearTimeout(timer);
      this.#close(key);
    }
  }

  #closeLater(key: string): NodeJS.Timeout {
    return setTimeout(() => {
      const known = this.#close(key);
      // One line a minute while it repeats.
      if (known !== undefined && known.repetitions > 0)
        this.#counted.set(key, { ...known, repetitions: 0, timer: this.#closeLater(key) });
    }, windowMs).unref();
  }

  #close(key: string): CountedLine | undefined {
    const known = this.#counted.get(key);
    this.#counted.delete(key);
    if (known !== undefined && known.repetitions > 0)
      this.#write(known.last.replace(/\}\n$/, `,"repeated":${known.repetitions}}\n`));
    return known;
  }
}
