/** The size of a terminal. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A size is shorter than this; a longer text without one is not of a terminal. */
const maxText = 1024;

/** Reads sizes from a stream of JSON objects `{"Width":80,"Height":24}`, in chunks of any size. */
export class SizeReader {
  #text = '';
  #isBroken = false;

  /** Returns the sizes that are complete with this chunk. A text that is not JSON ends the stream. */
  push(chunk: Buffer): readonly TerminalSize[] {
    if (this.#isBroken) return [];
    this.#text += chunk.toString('latin1');
    const sizes: TerminalSize[] = [];
    for (let end = this.#text.indexOf('}'); end >= 0; end = this.#text.indexOf('}')) {
      const size = parseSize(this.#text.slice(0, end + 1));
      this.#text = this.#text.slice(end + 1);
      if (size !== undefined) sizes.push(size);
    }
    if (this.#text.length > maxText) {
      this.#isBroken = true;
      this.#text = '';
    }
    return sizes;
  }
}

function parseSize(text: string): TerminalSize | undefined {
  try {
    // Both fields are checked below.
    const { Width: columns, Height: rows } = JSON.parse(text) as { Width?: unknown; Height?: unknown };
    return isSize(columns) && isSize(rows) ? { columns, rows } : undefined;
  } catch {
    return undefined;
  }
}

const isSize = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff;
