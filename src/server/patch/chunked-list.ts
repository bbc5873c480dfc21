const chunkSize = 512;

/** A list with cheap insertion and removal at any index: each costs a chunk instead of the whole list. */
export class ChunkedList {
  readonly #chunks: unknown[][] = [];
  #length: number;

  constructor(items: readonly unknown[]) {
    this.#length = items.length;
    for (let at = 0; at < items.length; at += chunkSize) this.#chunks.push(items.slice(at, at + chunkSize));
    if (items.length === 0) this.#chunks.push([]);
  }

  get length(): number {
    return this.#length;
  }

  at(index: number): unknown {
    const { items, offset } = this.#find(index);
    return items[offset];
  }

  set(index: number, item: unknown): void {
    const { items, offset } = this.#find(index);
    items[offset] = item;
  }

  /** `index` may be one past the end. */
  insert(index: number, item: unknown): void {
    const { chunk, items, offset } = this.#find(index);
    items.splice(offset, 0, item);
    if (items.length >= 2 * chunkSize) this.#chunks.splice(chunk, 1, items.slice(0, chunkSize), items.slice(chunkSize));
    this.#length++;
  }

  remove(index: number): void {
    const { chunk, items, offset } = this.#find(index);
    items.splice(offset, 1);
    if (items.length === 0 && this.#chunks.length > 1) this.#chunks.splice(chunk, 1);
    this.#length--;
  }

  toArray(): unknown[] {
    return this.#chunks.flat();
  }

  #find(index: number): { readonly chunk: number; readonly items: unknown[]; readonly offset: number } {
    let offset = index;
    for (const [chunk, items] of this.#chunks.entries()) {
      if (offset < items.length || chunk === this.#chunks.length - 1) return { chunk, items, offset };
      offset -= items.length;
    }
    throw new Error('bug: a list without chunks');
  }
}
