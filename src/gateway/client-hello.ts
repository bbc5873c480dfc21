// Reads the server name of a TLS ClientHello (RFC 8446 §4.1.2, RFC 6066 §3) without terminating TLS.

/** `incomplete`: more bytes are needed. `invalid`: it is not a ClientHello. `name`: '' if it has none. */
export type ClientHello =
  | { readonly state: 'incomplete' }
  | { readonly state: 'invalid' }
  | { readonly state: 'complete'; readonly serverName: string };

const handshakeRecord = 22;
const clientHello = 1;
const serverNameExtension = 0;
const hostName = 0;
/** A ClientHello with post-quantum keys has about 2 KiB. */
const longestHello = 16 << 10;

const incomplete: ClientHello = { state: 'incomplete' };
const invalid: ClientHello = { state: 'invalid' };

/** Reads the beginning of a connection. */
export function readClientHello(bytes: Buffer): ClientHello {
  const handshake = handshakeIn(bytes);
  if (handshake === 'incomplete') return bytes.length > longestHello ? invalid : incomplete;
  if (handshake === 'invalid') return invalid;
  const reader = new Reader(handshake);
  reader.skip(2 + 32); // version and random
  reader.take(reader.uint8()); // session ID
  reader.take(reader.uint16()); // cipher suites
  reader.take(reader.uint8()); // compression methods
  const extensions = new Reader(reader.take(reader.uint16()));
  while (extensions.left > 0 && !extensions.isBroken) {
    const type = extensions.uint16();
    const data = extensions.take(extensions.uint16());
    if (type !== serverNameExtension) continue;
    const names = new Reader(data);
    names.skip(2); // length of the list
    const isHostName = names.uint8() === hostName;
    const name = names.take(names.uint16());
    if (names.isBroken || !isHostName) return invalid;
    return { state: 'complete', serverName: name.toString('latin1').toLowerCase() };
  }
  return reader.isBroken || extensions.isBroken ? invalid : { state: 'complete', serverName: '' };
}

/** The body of the ClientHello, which may be fragmented into several records. */
function handshakeIn(bytes: Buffer): Buffer | 'incomplete' | 'invalid' {
  const fragments: Buffer[] = [];
  let length = 0;
  for (let at = 0; ;) {
    if (bytes.length > at && bytes[at] !== handshakeRecord) return 'invalid';
    if (bytes.length < at + 5) return 'incomplete';
    const size = bytes.readUInt16BE(at + 3);
    if (size === 0 || size > longestHello) return 'invalid';
    const fragment = bytes.subarray(at + 5, at + 5 + size);
    fragments.push(fragment);
    length += fragment.length;
    const message = fragments.length === 1 ? fragment : Buffer.concat(fragments);
    if (message.length > 0 && message[0] !== clientHello) return 'invalid';
    if (length >= 4) {
      const wanted = message.readUIntBE(1, 3);
      if (wanted > longestHello) return 'invalid';
      if (length >= 4 + wanted) return message.subarray(4, 4 + wanted);
    }
    at += 5 + size;
    if (bytes.length < at) return 'incomplete';
  }
}

/** Reads fields in order; after the end it returns zeros and is broken. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  isBroken = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  take(length: number): Buffer {
    if (length > this.left) {
      this.isBroken = true;
      this.#at = this.#bytes.length;
      return Buffer.alloc(0);
    }
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  skip(length: number): void {
    this.take(length);
  }

  uint8(): number {
    return this.take(1)[0] ?? 0;
  }

  uint16(): number {
    const bytes = this.take(2);
    return bytes.length === 2 ? bytes.readUInt16BE(0) : 0;
  }
}
