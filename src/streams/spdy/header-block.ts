import { constants, inflateRawSync } from 'node:zlib';

/** Headers of a stream: lower-case name → value. */
export type StreamHeaders = Readonly<Record<string, string>>;

/** Thrown for bytes that break the protocol; the connection cannot continue. */
export class SpdyProtocolError extends Error {}

// SPDY/3.1 §2.6.10.1: frequent names and values, the first part each with its length.
const dictionaryWords =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow ' +
  'authorization cache-control connection content-base content-encoding content-language content-length ' +
  'content-location content-md5 content-range content-type date etag expect expires from host if-match ' +
  'if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma ' +
  'proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade ' +
  'user-agent vary via warning www-authenticate method get status';
const dictionaryText =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative ' +
  'Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal ' +
  'Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 ' +
  'Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,' +
  'application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8' +
  'charset=iso-8859-1,utf-,*,enq=0.';

const withLength = (text: string): Buffer => {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([uint32(bytes.length), bytes]);
};

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** The dictionary of both compression contexts. */
export const dictionary = Buffer.concat([
  ...[
    ...dictionaryWords.split(' '),
    '200 OK',
    'version',
    'HTTP/1.1',
    'url',
    'public',
    'set-cookie',
    'keep-alive',
    'origin',
  ].map(withLength),
  Buffer.from(dictionaryText),
]);

/** CMF, FLG with FDICT, and the checksum of the dictionary (RFC 1950 §2.2). */
const zlibHeader = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);
const flagOffset = 1;
const dictionaryFlag = 0x20;
/** An empty stored block: decoders return what they have when they read it. */
const syncMarker = Buffer.from([0, 0, 0, 0xff, 0xff]);
const windowBytes = 32 * 1024;
/** The content of a stored block has a 16-bit length. */
const maxBlockBytes = 0xffff;

/** Limits on the headers of one stream. */
const maxHeaderBytes = 64 * 1024;
const maxHeaders = 100;

/**
 * Encodes the headers of one direction of a connection. It does not compress: stored blocks are valid zlib, so that the
 * encoder has no state but whether the zlib header was sent, and nothing leaks through lengths.
 */
export class HeaderEncoder {
  #isStarted = false;

  encode(headers: StreamHeaders): Buffer {
    const entries = Object.entries(headers);
    const block = Buffer.concat([
      uint32(entries.length),
      ...entries.flatMap(([name, value]) => [withLength(name.toLowerCase()), withLength(value)]),
    ]);
    if (block.length > maxBlockBytes)
      throw new SpdyProtocolError(`headers of ${block.length} bytes exceed ${maxBlockBytes}`);
    const length = Buffer.alloc(5);
    length.writeUInt16LE(block.length, 1);
    length.writeUInt16LE(~block.length & 0xffff, 3);
    const pieces = [length, block, syncMarker];
    if (!this.#isStarted) pieces.unshift(zlibHeader);
    this.#isStarted = true;
    return Buffer.concat(pieces);
  }
}

/**
 * Decodes the headers of one direction of a connection. One zlib context covers all header blocks, and each block ends
 * with a sync flush: the state between two blocks is the window, with which each block is inflated on its own.
 */
export class HeaderDecoder {
  #window: Buffer = dictionary;
  #isStarted = false;

  /** Throws `SpdyProtocolError` for a malformed or oversized block. */
  decode(block: Buffer): StreamHeaders {
    const text = this.#inflate(this.#isStarted ? block : withoutZlibHeader(block));
    this.#isStarted = true;
    return parseHeaders(text);
  }

  #inflate(deflated: Buffer): Buffer {
    try {
      const text = inflateRawSync(deflated, {
        dictionary: this.#window,
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: maxHeaderBytes,
      });
      this.#window = Buffer.concat([this.#window, text]).subarray(-windowBytes);
      return text;
    } catch (error) {
      throw new SpdyProtocolError('headers cannot be decompressed', { cause: error });
    }
  }
}

function withoutZlibHeader(block: Buffer): Buffer {
  const [method = 0, flags = 0] = block;
  if (block.length < 2 || (method & 0x0f) !== 8 || ((method << 8) | flags) % 31 !== 0) {
    throw new SpdyProtocolError('headers are not compressed with zlib');
  }
  if ((block[flagOffset] ?? 0) & dictionaryFlag) {
    if (!block.subarray(2, 6).equals(zlibHeader.subarray(2))) throw new SpdyProtocolError('unknown zlib dictionary');
    return block.subarray(6);
  }
  return block.subarray(2);
}

function parseHeaders(text: Buffer): StreamHeaders {
  let offset = 0;
  const number = (): number => {
    if (offset + 4 > text.length) throw new SpdyProtocolError('truncated headers');
    offset += 4;
    return text.readUInt32BE(offset - 4);
  };
  const string = (): string => {
    const length = number();
    if (offset + length > text.length) throw new SpdyProtocolError('truncated headers');
    offset += length;
    return text.toString('latin1', offset - length, offset);
  };
  const count = number();
  if (count > maxHeaders) throw new SpdyProtocolError(`${count} headers exceed ${maxHeaders}`);
  const headers = new Map<string, string>();
  for (let index = 0; index < count; index++) {
    const name = string().toLowerCase();
    if (headers.has(name)) throw new SpdyProtocolError(`duplicate header ${JSON.stringify(name)}`);
    // Several values of a name are separated by a zero byte; no header of ours has more than one.
    headers.set(name, string().split('\0')[0] ?? '');
  }
  if (offset !== text.length) throw new SpdyProtocolError('bytes after the headers');
  return Object.fromEntries(headers);
}
