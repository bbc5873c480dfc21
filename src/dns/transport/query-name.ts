import { maxLabelBytes, maxNameBytes } from '../../dnswire/name.ts';

/** Up to three bytes after a name are read, since hashing reads whole words. */
const spareBytes = 4;
const maxLabels = 127;
/** Words of a hash state. */
const stateWords = 4;

const lowerCase: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);

/**
 * The name of a query and all its suffixes. Parsing another name replaces it: nothing is allocated.
 *
 * Its hash is HalfSipHash-1-3 (Aumasson and Bernstein) of the labels in reverse order, each padded to whole words; the
 * length byte of a label makes this unambiguous. One pass yields the hashes of all suffixes, which the search for the
 * closest encloser needs. The secret key prevents chosen collisions.
 */
export class QueryName {
  /** The encoded name in lower case. */
  readonly bytes: Uint8Array = new Uint8Array(maxNameBytes + spareBytes);
  readonly view: DataView = new DataView(this.bytes.buffer);
  /** Label → its offset; the root is the last. */
  readonly starts: Uint8Array = new Uint8Array(maxLabels + 1);
  /** Length in bytes, with the root. */
  length = 0;
  /** Number of labels, without the root. */
  labels = 0;
  /** Label → the hash state after it and all labels behind it. */
  readonly #states = new Int32Array((maxLabels + 1) * stateWords);

  /** Parses an uncompressed name; returns the offset after it, or 0 if it is malformed. */
  read(message: Uint8Array, start: number, end: number): number {
    const name = this.bytes;
    let at = start;
    let length = 0;
    let labels = 0;
    while (at < end) {
      const size = message[at] ?? 0;
      this.starts[labels] = length;
      if (size === 0) {
        name[length] = 0;
        this.length = length + 1;
        this.labels = labels;
        return at + 1;
      }
      if (size > maxLabelBytes || length + size + 2 > maxNameBytes || at + size >= end) return 0;
      labels++;
      name[length++] = size;
      const labelEnd = at + size;
      while (at < labelEnd) name[length++] = lowerCase[message[++at] ?? 0] ?? 0;
      at++;
    }
    return 0;
  }

  /** Computes the hash states of all suffixes, under a key of two words. */
  prepare(key0: number, key1: number): void {
    const { view, starts } = this;
    let v0 = key0;
    let v1 = key1;
    let v2 = 0x6c796765 ^ key0;
    let v3 = 0x74656462 ^ key1;
    this.#store(this.labels, v0, v1, v2, v3);
    for (let label = this.labels - 1; label >= 0; label--) {
      const end = starts[label + 1] ?? 0;
      for (let at = starts[label] ?? 0; at < end; at += 4) {
        let word = view.getInt32(at, true);
        if (end - at < 4) word &= (1 << ((end - at) << 3)) - 1;
        v3 ^= word;
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
        v0 ^= word;
      }
      this.#store(label, v0, v1, v2, v3);
    }
  }

  #store(label: number, v0: number, v1: number, v2: number, v3: number): void {
    const at = label * stateWords;
    this.#states[at] = v0;
    this.#states[at + 1] = v1;
    this.#states[at + 2] = v2;
    this.#states[at + 3] = v3;
  }

  /** The hash of the suffix that begins with a label; call `prepare` first. */
  hash(label: number): number {
    const at = label * stateWords;
    let v0 = this.#states[at] ?? 0;
    let v1 = this.#states[at + 1] ?? 0;
    let v2 = (this.#states[at + 2] ?? 0) ^ 0xff;
    let v3 = this.#states[at + 3] ?? 0;
    // The round is duplicated: its four words stay in registers, which a function could not return.
    for (let rounds = 0; rounds < 3; rounds++) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    return v1 ^ v3;
  }
}
