// Lines of a container's log: `TIME STREAM F|P TEXT`, where P marks a part that the next line of the stream continues. Pure.

/** Which lines of a log a caller wants, and how. */
export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  /** Prefixes each line with its time. */
  readonly timestamps: boolean;
  /** Undefined: all lines. */
  readonly tailLines: number | undefined;
  /** Lines from this time on, in milliseconds since the epoch. */
  readonly since: number | undefined;
  /** The output ends after this many bytes, also inside a line. */
  readonly limitBytes: number | undefined;
}

/** The options in the parameters of a request; a text if one of them is not valid. */
export function logOptions(query: URLSearchParams, now: number): LogOptions | string {
  const number = (name: string, least: number): number | undefined | string => {
    const text = query.get(name);
    if (text === null || text === '') return undefined;
    const value = Number(text);
    return Number.isSafeInteger(value) && value >= least ? value : `invalid ${name}: ${JSON.stringify(text)}`;
  };
  const tail = query.get('tail');
  if (tail !== null && tail !== 'all') query.set('tailLines', tail);
  const [tailLines, limitBytes, sinceSeconds] = [
    number('tailLines', 0),
    number('limitBytes', 1),
    number('sinceSeconds', 1),
  ];
  for (const value of [tailLines, limitBytes, sinceSeconds]) if (typeof value === 'string') return value;
  const sinceTime = query.get('sinceTime');
  const since = sinceTime === null || sinceTime === '' ? undefined : Date.parse(sinceTime);
  if (Number.isNaN(since)) return `invalid sinceTime: ${JSON.stringify(sinceTime)}`;
  const isSet = (name: string): boolean => ['true', '1'].includes(query.get(name) ?? '');
  return {
    follow: isSet('follow'),
    previous: isSet('previous'),
    timestamps: isSet('timestamps'),
    tailLines: tailLines as number | undefined,
    limitBytes: limitBytes as number | undefined,
    since: typeof sinceSeconds === 'number' ? now - sinceSeconds * 1000 : since,
  };
}

const newline = 0x0a;
const space = 0x20;
/** Longer lines are not of an agent or a container runtime: the rest is passed on as it is. */
const maxLineBytes = 256 * 1024;

/** Turns the bytes of log files into the output of a request. */
export class LogFormatter {
  readonly #options: Pick<LogOptions, 'timestamps' | 'since'>;
  #left: number;
  #rest: Buffer = Buffer.alloc(0);
  /** The streams whose last line was a part. */
  readonly #partial = new Set<string>();

  constructor(options: Pick<LogOptions, 'timestamps' | 'since' | 'limitBytes'>) {
    this.#options = options;
    this.#left = options.limitBytes ?? Infinity;
  }

  /** Whether the limit of bytes is reached. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** Returns the output of the lines that are complete with this chunk. */
  push(chunk: Buffer): Buffer {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const output: Buffer[] = [];
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline)) {
      this.#line(bytes.subarray(0, end), output);
      bytes = bytes.subarray(end + 1);
    }
    if (bytes.length > maxLineBytes) {
      output.push(bytes);
      bytes = bytes.subarray(bytes.length);
    }
    this.#rest = Buffer.from(bytes);
    return this.#limited(Buffer.concat(output));
  }

  #line(line: Buffer, output: Buffer[]): void {
    const first = line.indexOf(space);
    const second = line.indexOf(space, first + 1);
    const third = line.indexOf(space, second + 1);
    if (first < 0 || second < 0 || third < 0) return; // a write that a full disk cut
    const { since, timestamps } = this.#options;
    const time = line.toString('latin1', 0, first);
    const stream = line.toString('latin1', first + 1, second);
    const isPart = line.toString('latin1', second + 1, third).split(':')[0] === 'P';
    const continues = this.#partial.has(stream);
    if (isPart) this.#partial.add(stream);
    else this.#partial.delete(stream);
    if (since !== undefined && Date.parse(time) < since) return;
    if (timestamps && !continues) output.push(line.subarray(0, first + 1));
    output.push(line.subarray(third + 1));
    if (!isPart) output.push(Buffer.of(newline));
  }

  #limited(output: Buffer): Buffer {
    const allowed = output.subarray(0, Math.min(output.length, this.#left));
    this.#left -= allowed.length;
    return allowed;
  }
}

/** Counts lines from the end of a file, whose chunks are given from its last to its first. */
export class TailCounter {
  #left: number;
  /** The last newline ends the last line. */
  #isAtEnd = true;

  constructor(lines: number) {
    this.#left = lines;
  }

  /** The lines that are still missing. */
  get left(): number {
    return this.#left;
  }

  /** Returns where in the chunk the wanted lines begin; undefined if they begin before it. */
  push(chunk: Buffer): number | undefined {
    for (let index = chunk.length - 1; index >= 0; index--) {
      if (chunk[index] !== newline) {
        this.#isAtEnd = false;
        continue;
      }
      if (this.#isAtEnd) {
        this.#isAtEnd = false;
        if (this.#left === 0) return index + 1;
        continue;
      }
      this.#left--;
      if (this.#left === 0) return index + 1;
    }
    return undefined;
  }

  /** Called at the beginning of a file, which is the beginning of a line. */
  fileStart(): void {
    if (!this.#isAtEnd) this.#left = Math.max(0, this.#left - 1);
    this.#isAtEnd = true;
  }
}
