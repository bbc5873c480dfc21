import { ConnectionLostError } from './errors.ts';

/** The beginning of an answer. */
export interface ResponseHead {
  readonly status: number;
  /** Names are in lower case; what stands several times is joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Who takes an answer in, piece by piece: one `head`, any number of `body`, one `end`. */
export interface ResponseSink {
  head(head: ResponseHead): void;
  /** A piece of the body, which may be kept. */
  body(bytes: Buffer, from: number, to: number): void;
  /** `isReusable`: the connection can carry another request. */
  end(isReusable: boolean): void;
}

/** More than this of headers or trailers is no API server's. */
const longestHeadBytes = 64 << 10;
/** Informational answers before the one that was asked for. */
const mostHeads = 10;

/** A chunk says its size in few digits, with extensions that nobody sends. */
const longestSizeBytes = 1 << 10;

/** What comes next, and how much of it where that is known. */
type State = 'head' | 'counted' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'until-close' | 'over';

/**
 * Reads one answer of HTTP/1.x from the pieces it arrives in (RFC 9112). Informational answers are passed over. What is
 * not HTTP throws; so does more than was asked for, since it would be taken for the next answer.
 */
export class ResponseReader {
  readonly #sink: ResponseSink;
  #state: State = 'head';
  /** What arrived of a head, a chunk's size or trailers that are not complete. */
  #partial: Buffer | undefined;
  /** Bytes of the body, or of its present chunk, that are still to come. */
  #left = 0;
  #isReusable = false;
  #heads = 0;
  #trailerBytes = 0;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  /** Whether the answer is complete. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** Takes what arrived. */
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

  /** The server closed the connection: for some answers that is how they end. */
  close(): void {
    if (this.#state === 'over') return;
    if (this.#state !== 'until-close') throw new ConnectionLostError('the answer broke off');
    this.#end(false);
  }

  /** Reads one thing from `at` on; where it ends, or -1 if it has not arrived yet. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes, at);
      case 'counted':
      case 'chunk':
        return this.#readCounted(bytes, at);
      case 'chunk-size':
        return this.#readSize(bytes, at);
      case 'chunk-end':
        return this.#readChunkEnd(bytes, at);
      case 'trailers':
        return this.#readTrailers(bytes, at);
      case 'until-close':
        this.#sink.body(bytes, at, bytes.length);
        return bytes.length;
      case 'over':
        throw new Error('the server sent more than was asked for');
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n\r\n', at);
    bounded(end < 0 ? bytes.length - at : end - at, longestHeadBytes, 'headers');
    if (end < 0) return -1;
    const head = parseHead(bytes.toString('latin1', at, end));
    this.#heads++;
    if (head.status >= 200) this.#begin(head);
    else if (this.#heads > mostHeads) throw new Error(`the server sends more than ${mostHeads} informational answers`);
    // An upgrade was never asked for; what else begins with 1 is followed by the answer.
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
      if (coding.toLowerCase() !== 'chunked') throw new Error(`the server answers in ${JSON.stringify(coding)}`);
      this.#state = 'chunk-size';
    } else if (length === undefined) this.#state = 'until-close';
    else {
      this.#left = parseLength(length);
      this.#state = 'counted';
      if (this.#left === 0) this.#end(this.#isReusable);
    }
  }

  #readCounted(bytes: Buffer, at: number): number {
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
    bounded(end < 0 ? bytes.length - at : end - at, longestSizeBytes, 'the size of a chunk');
    if (end < 0) return -1;
    const [digits = ''] = bytes.toString('latin1', at, end).split(';', 1);
    if (!/^[0-9a-f]{1,12}[ \t]*$/i.test(digits))
      throw new Error(`${JSON.stringify(digits)} is not the size of a chunk`);
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'chunk';
    return end + 2;
  }

  #readChunkEnd(bytes: Buffer, at: number): number {
    if (bytes.length - at < 2) return -1;
    if (bytes[at] !== 13 || bytes[at + 1] !== 10) throw new Error('a chunk is longer than it says');
    this.#state = 'chunk-size';
    return at + 2;
  }

  /** Lines that nobody reads, up to an empty one. */
  #readTrailers(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n', at);
    bounded(this.#trailerBytes + (end < 0 ? bytes.length : end) - at, longestHeadBytes, 'trailers');
    if (end < 0) return -1;
    this.#trailerBytes += end + 2 - at;
    if (end === at) this.#end(this.#isReusable);
    return end + 2;
  }

  #end(isReusable: boolean): void {
    this.#state = 'over';
    this.#sink.end(isReusable);
  }
}

interface ParsedHead extends ResponseHead {
  /** Whether the server leaves the connection open. */
  readonly isKept: boolean;
}

function parseHead(text: string): ParsedHead {
  const [first = '', ...lines] = text.split('\r\n');
  const [, minor, status] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(first) ?? [];
  if (status === undefined) throw new Error(`not an answer of HTTP/1.1: ${JSON.stringify(first.slice(0, 100))}`);
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

/** A length that stands several times must be the same each time. */
function parseLength(text: string): number {
  const [first = '', ...others] = text.split(',').map((each) => each.trim());
  if (!/^\d{1,15}$/.test(first) || others.some((other) => other !== first)) {
    throw new Error(`${JSON.stringify(text)} is not the length of an answer`);
  }
  return Number(first);
}

function bounded(bytes: number, most: number, what: string): void {
  if (bytes > most) throw new Error(`the server sends more than ${most} bytes of ${what}`);
}
