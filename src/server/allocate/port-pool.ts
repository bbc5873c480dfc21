import { BandedPool, staticBand } from './banded-pool.ts';
import type { Random } from './banded-pool.ts';

/** A range of ports, both ends included. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

/** The node ports of a cluster: one number space for all protocols and for health checks. */
export class PortPool {
  readonly range: PortRange;
  readonly #pool: BandedPool;

  constructor(range: PortRange) {
    const size = range.to - range.from + 1;
    this.range = range;
    this.#pool = new BandedPool(size, staticBand(size, 32, 128));
  }

  get used(): number {
    return this.#pool.used;
  }

  get free(): number {
    return this.#pool.size - this.#pool.used;
  }

  contains(port: number): boolean {
    return Number.isInteger(port) && port >= this.range.from && port <= this.range.to;
  }

  /** Whether `port` is allocated; false for ports outside the range. */
  has(port: number): boolean {
    return this.contains(port) && this.#pool.has(port - this.range.from);
  }

  /** Allocates a specific port; false if it is allocated or outside the range. */
  allocate(port: number): boolean {
    return this.contains(port) && this.#pool.allocate(port - this.range.from);
  }

  /** Releases a port; false if it was not allocated. */
  release(port: number): boolean {
    return this.contains(port) && this.#pool.release(port - this.range.from);
  }

  /** Allocates any free port; undefined if the range is full. */
  allocateNext(random: Random): number | undefined {
    const index = this.#pool.allocateNext(random);
    return index === undefined ? undefined : this.range.from + index;
  }
}
