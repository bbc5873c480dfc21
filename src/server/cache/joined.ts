/**
 * Joins lines to chunks, and remembers the last one: watchers of the same thing mostly have the same lines to send, and
 * a chunk of its own for each of hundreds is what the garbage collector would be busy with.
 */
export class Joined {
  #lines: readonly Buffer[] = [];
  #chunk: Buffer = Buffer.alloc(0);

  join(lines: readonly Buffer[]): Buffer {
    const [only] = lines;
    if (only !== undefined && lines.length === 1) return only;
    if (!isSame(lines, this.#lines)) {
      this.#chunk = Buffer.concat(lines);
      this.#lines = lines;
    }
    return this.#chunk;
  }
}

const isSame = (one: readonly Buffer[], other: readonly Buffer[]): boolean =>
  one.length === other.length && one.every((line, index) => line === other[index]);
