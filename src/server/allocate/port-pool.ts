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

  /** Whether somebody has `port`; never for ports outside the range. */
  has(port: number): boolean {
    return this.contains(port) && this.#pool.has(port - this.range.from);
  }

  /** Takes a certain port; false when somebody has it or it is outside the range. */
  claim(port: number): boolean {
    return this.contains(port) && this.#pool.claim(port - this.range.from);
  }

  /** Gives a port back; false when nobody had it. */
  release(port: number): boolean {
    return this.contains(port) && this.#pool.release(port - this.range.from);
  }

  /** Takes any free port; undefined when there is none. */
  take(random: Random): number | undefined {
    const index = this.#pool.take(random);
    return index === undefined ? undefined : this.range.from + index;
  }
}
