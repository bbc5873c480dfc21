// Datagrams in a byte stream: each follows its length as 16 bits.

/** A datagram for a stream. */
export function frameOf(datagram: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(2 + datagram.length);
  frame.writeUInt16BE(datagram.length, 0);
  frame.set(datagram, 2);
  return frame;
}

/** Splits a byte stream into datagrams. It keeps at most one incomplete one, and copies each byte at most twice. */
export class DatagramReader {
  #pieces: Buffer[] = [];
  #length = 0;
  /** Bytes with which the next step is possible. */
  #wanted = 2;

  /** The datagrams that are complete with these bytes. */
  read(bytes: Buffer): readonly Buffer[] {
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    if (this.#length < this.#wanted) return [];
    let rest = Buffer.concat(this.#pieces);
    const datagrams: Buffer[] = [];
    for (;;) {
      this.#wanted = rest.length < 2 ? 2 : 2 + rest.readUInt16BE(0);
      if (rest.length < this.#wanted) break;
      datagrams.push(rest.subarray(2, this.#wanted));
      rest = rest.subarray(this.#wanted);
    }
    this.#pieces = [Buffer.from(rest)];
    this.#length = rest.length;
    return datagrams;
  }
}
