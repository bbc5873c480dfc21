import { ConnectionLostError } from './errors.ts';

/** Status and headers of a response. */
export interface ResponseHead {
  readonly status: number;
  /** Names are in lower case; repeated headers are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Receives a response: one `head`, any number of `body`, one `end`. */
export interface ResponseSink {
  head(head: ResponseHead): void;
  /** A piece of the body, which the sink may retain. */
  body(bytes: Buffer, from: number, to: number): void;
  /** `isReusable`: the connection can carry another request. */
  end(isReusable: boolean): void;
}

/** The limit of headers and of trailers. */
const maxHeadBytes = 64 << 10;
/** Informational responses (1xx) before the final one. */
const maxHeads = 10;

/** The limit of a chunk size with its extensions. */
const maxChunkSizeBytes = 1 << 10;

/** The next element to parse. */
type State = 'head' | 'fixed-length' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'until-close' | 'complete';

/**
 * Parses one HTTP/1.x response incrementally (RFC 9112) and skips informational responses. Throws on invalid HTTP, and on
 * bytes after the response, which would otherwise be taken for the next one.
 */
export class ResponseReader {
  readonly #sink: ResponseSink;
  #state: State = 'head';
  /** An incomplete head, chunk size or trailer line. */
  #partial: Buffer | undefined;
  /** Remaining bytes of the body or of the current chunk. */
  #left = 0;
  #isReusable = false;
  #heads = 0;
  #trailerBytes = 0;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  /** Whether the response is complete. */
  get isComplete(): boolean {
    return this.#state === 'complete';
  }

  /** Parses received bytes. */
  push(arrived: Buffer): void {
    let bytes = arrived;
    if (this.#partial !== undefined) {
      bytes = Buffer.concat([this.#partial, arrived]);
      this.#partial = undefined;
    }
    for (let at = 0; at < bytes.length;) {
      const next = this.#step(bytes, at);
      if (next < 0) {
        this.#partial = at === 0 ? bytes : bytes.subarray(at);
        return;
      }
      at = next;
    }
  }

  /** Handles the end of the connection, which completes a response without a length. */
  close(): void {
    if (this.#state === 'complete') return;
    if (this.#state !== 'until-close')
      throw new ConnectionLostError('the server closed the connection before the response was complete');
    this.#end(false);
  }

  /** Parses one element at `at`. Returns the index after it, or -1 if it is incomplete. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes, at);
      case 'fixed-length':
      case 'chunk':
        return this.#readFixedLength(bytes, at);
      case 'chunk-size':
        return this.#readSize(bytes, at);
      case 'chunk-end':
        return this.#readChunkEnd(bytes, at);
      case 'trailers':
        return this.#readTrailers(bytes, at);
      case 'until-close':
        this.#sink.body(bytes, at, bytes.length);
        return bytes.length;
      case 'complete':
        throw new Error('the server sent more than the response');
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n\r\n', at);
    bounded(end < 0 ? bytes.length - at : end - at, maxHeadBytes, 'headers');
    if (end < 0) return -1;
    const head = parseHead(bytes.toString('latin1', at, end));
    this.#heads++;
    if (head.status >= 200) this.#begin(head);
    else if (this.#heads > maxHeads) throw new Error(`the server sends more than ${maxHeads} informational responses`);
    // Other 1xx responses precede the final one, but 101 replaces it and was not requested.
    else if (head.status === 101) throw new Error('the server switches protocols without a request to do so');
    return end + 4;
  }

  /** How the body ends (RFC 9112 §6.3). */
  #begin({ status, headers, isKept }: ParsedHead): void {
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      throw new Error(`the server sends Content-Encoding ${JSON.stringify(encoding)}, which was not requested`);
    const coding = headers['transfer-encoding'];
    const length = headers['content-length'];
    this.#sink.head({ status, headers });
    this.#isReusable = isKept && !(coding !== undefined && length !== undefined);
    if (status === 204 || status === 304) return this.#end(this.#isReusable);
    if (coding !== undefined) {
      if (coding.toLowerCase() !== 'chunked')
        throw new Error(`the server sends Transfer-Encoding ${JSON.stringify(coding)}, which is not supported`);
      this.#state = 'chunk-size';
    } else if (length === undefined) this.#state = 'until-close';
    else {
      this.#left = parseLength(length);
      this.#state = 'fixed-length';
      if (this.#left === 0) this.#end(this.#isReusable);
    }
  }

  #readFixedLength(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#sink.body(bytes, at, end);
    if (this.#left === 0) {
      if (this.#state === 'chunk') this.#state = 'chunk-end';
      else this.#end(this.#isReusable);
    }
    return end;
  }

  #readSize(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n', at);
    bounded(end < 0 ? bytes.length - at : end - at, maxChunkSizeBytes, 'a chunk size');
    if (end < 0) return -1;
    const [digits = ''] = bytes.toString('latin1', at, end).split(';', 1);
    if (!/^[0-9a-f]{1,12}[ \t]*$/i.test(digits)) throw new Error(`${JSON.stringify(digits)} is not a chunk size`);
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'chunk';
    return end + 2;
  }

  #readChunkEnd(bytes: Buffer, at: number): number {
    if (bytes.length - at < 2) return -1;
    if (bytes[at] !== 13 || bytes[at + 1] !== 10) throw new Error('a chunk is longer than its size');
    this.#state = 'chunk-size';
    return at + 2;
  }

  /** Skips trailer lines up to the empty one. */
  #readTrailers(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n', at);
    bounded(this.#trailerBytes + (end < 0 ? bytes.length : end) - at, maxHeadBytes, 'trailers');
    if (end < 0) return -1;
    this.#trailerBytes += end + 2 - at;
    if (end === at) this.#end(this.#isReusable);
    return end + 2;
  }

  #end(isReusable: boolean): void {
    this.#state = 'complete';
    this.#sink.end(isReusable);
  }
}

interface ParsedHead extends ResponseHead {
  /** Whether the server keeps the connection open. */
  readonly isKept: boolean;
}

function parseHead(text: string): ParsedHead {
  const [first = '', ...lines] = text.split('\r\n');
  const [, minor, status] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(first) ?? [];
  if (status === undefined) throw new Error(`not an HTTP/1.1 response: ${JSON.stringify(first.slice(0, 100))}`);
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (colon < 1 || /[\s\0]/.test(name)) throw new Error(`not a header: ${JSON.stringify(line.slice(0, 100))}`);
    const value = line.slice(colon + 1).trim();
    const known = headers[name];
    headers[name] = known === undefined ? value : `${known}, ${value}`;
  }
  const connection = headers['connection']?.toLowerCase() ?? '';
  const isKept = minor === '0' ? connection.includes('keep-alive') : !connection.includes('close');
  return { status: Number(status), headers, isKept };
}

/** Repeated Content-Length headers must be identical. */
function parseLength(text: string): number {
  const [first = '', ...others] = text.split(',').map((each) => each.trim());
  if (!/^\d{1,15}$/.test(first) || others.some((other) => other !== first)) {
    throw new Error(`${JSON.stringify(text)} is not a valid Content-Length`);
  }
  return Number(first);
}

function bounded(bytes: number, most: number, what: string): void {
  if (bytes > most) throw new Error(`the server sends more than ${most} bytes of ${what}`);
}
