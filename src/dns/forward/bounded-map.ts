export interface Bounds {
  readonly entries: number;
  readonly bytes: number;
  /** Called for each evicted entry. */
  readonly onEvict?: () => void;
}

interface Slot<V> {
  readonly value: V;
  readonly bytes: number;
}

/**
 * A map with bounded size. Entries that were read are kept apart from those that were not, which are evicted first: a flood
 * of entries that are never read does not evict the useful ones.
 *
 *     set ─► new ──get──► used (4/5 of the bounds)
 *             │  ▲          │ least recently used
 *             ▼  └──────────┘
 *           evicted
 */
export class BoundedMap<V> {
  readonly #bounds: Bounds;
  /** Least recently used first. */
  readonly #new = new Map<string, Slot<V>>();
  readonly #used = new Map<string, Slot<V>>();
  #bytes = 0;
  #usedBytes = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#new.size + this.#used.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns a value and marks it as used. */
  get(key: string): V | undefined {
    const used = this.#used.get(key);
    const slot = used ?? this.#new.get(key);
    if (slot === undefined) return undefined;
    if (used === undefined) {
      this.#new.delete(key);
      this.#usedBytes += slot.bytes;
    } else this.#used.delete(key);
    this.#used.set(key, slot);
    this.#demote();
    return slot.value;
  }

  /** Sets a value of the given size, unless it exceeds the bounds by itself. */
  set(key: string, value: V, bytes: number): void {
    const wasUsed = this.#used.has(key);
    this.delete(key);
    if (bytes > this.#bounds.bytes || this.#bounds.entries < 1) return;
    (wasUsed ? this.#used : this.#new).set(key, { value, bytes });
    this.#bytes += bytes;
    if (wasUsed) this.#usedBytes += bytes;
    this.#demote();
    while (this.size > this.#bounds.entries || this.#bytes > this.#bounds.bytes) this.#evict();
  }

  /** Deletes an entry; returns whether it existed. */
  delete(key: string): boolean {
    const used = this.#used.get(key);
    const slot = used ?? this.#new.get(key);
    if (slot === undefined) return false;
    this.#bytes -= slot.bytes;
    if (used !== undefined) this.#usedBytes -= slot.bytes;
    return this.#used.delete(key) || this.#new.delete(key);
  }

  /** All entries, which may be deleted during iteration. Does not mark them as used. */
  *entries(): Generator<readonly [string, V]> {
    for (const map of [this.#new, this.#used]) for (const [key, { value }] of map) yield [key, value];
  }

  /** Moves entries beyond the share of used ones back to the new ones. */
  #demote(): void {
    const { entries, bytes } = this.#bounds;
    while (this.#used.size > Math.max(1, entries * 0.8) || (this.#usedBytes > bytes * 0.8 && this.#used.size > 1)) {
      const [first] = this.#used;
      if (first === undefined) return;
      this.#used.delete(first[0]);
      this.#usedBytes -= first[1].bytes;
      this.#new.set(first[0], first[1]);
    }
  }

  #evict(): void {
    const [first] = this.#new.size > 0 ? this.#new : this.#used;
    if (first === undefined) throw new Error('bug: an empty map exceeds its bounds');
    this.delete(first[0]);
    this.#bounds.onEvict?.();
  }
}
