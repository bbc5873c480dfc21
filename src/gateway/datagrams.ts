// Datagrams in a byte stream: each follows its length as 16 bits.

/** A datagram for a stream. */
export function frameOf(datagram: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(2 + datagram.length);
  frame.writeUInt16BE(datagram.length, 0);
  frame.set(datagram, 2);
  return frame;
}

/** Splits a byte stream into datagrams. It keeps at most one incomplete one. */
export class DatagramReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The datagrams that are complete with these bytes. */
  read(bytes: Buffer): readonly Buffer[] {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const datagrams: Buffer[] = [];
    while (rest.length >= 2) {
      const end = 2 + rest.readUInt16BE(0);
      if (rest.length < end) break;
      datagrams.push(rest.subarray(2, end));
      rest = rest.subarray(end);
    }
    this.#rest = Buffer.from(rest);
    return datagrams;
  }
}
