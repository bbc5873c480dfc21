// The part of SPDY/3.1 that `exec` of Kubernetes' Go client needs: the client opens streams, and the server writes to them.

import type { Duplex, Transform } from 'node:stream';
import { constants, createDeflate, createInflate } from 'node:zlib';

/** The dictionary for compressing headers (draft-mbelshe-httpbis-spdy-00, section 2.6.10.1): words with their lengths, then text. */
const words =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow authorization cache-control connection content-base content-encoding content-language content-length content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin';
const text =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.';
const dictionary = Buffer.concat([
  ...words.split(' ').map((word) => Buffer.concat([number(word.length), Buffer.from(word.replace('_', ' '))])),
  Buffer.from(text),
]);

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const types = { synStream: 1, synReply: 2, ping: 6 };
const fin = 1;

/** The server side of one connection. */
export class SpdySession {
  readonly #socket: Duplex;
  readonly #inflate = createInflate({ dictionary });
  readonly #deflate = createDeflate({ dictionary, flush: constants.Z_SYNC_FLUSH });

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** Accepts every stream that the client opens, and yields it, until the client closes the connection. */
  async run(head: Buffer, onStream: (id: number, headers: ReadonlyMap<string, string>) => void): Promise<void> {
    let rest = head;
    const handleAll = async (): Promise<void> => {
      while (rest.length >= 8 && rest.length >= 8 + rest.readUIntBE(5, 3)) {
        const frame = rest.subarray(0, 8 + rest.readUIntBE(5, 3));
        rest = rest.subarray(frame.length);
        await this.#handle(frame, onStream);
      }
    };
    await handleAll();
    for await (const chunk of this.#socket) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      await handleAll();
    }
  }

  /** Sends the last data of a stream and closes it. */
  finish(id: number, data: string | Buffer): void {
    const bytes = Buffer.from(data);
    const head = Buffer.alloc(8);
    head.writeUInt32BE(id, 0);
    head.writeUInt8(fin, 4);
    head.writeUIntBE(bytes.length, 5, 3);
    this.#socket.write(Buffer.concat([head, bytes]));
  }

  async #handle(frame: Buffer, onStream: (id: number, headers: ReadonlyMap<string, string>) => void): Promise<void> {
    if ((frame.readUInt8(0) & 0x80) === 0) return; // data: standard input is ignored
    const type = frame.readUInt16BE(2);
    if (type === types.ping) this.#socket.write(frame);
    if (type !== types.synStream) return;
    const id = frame.readUInt32BE(8);
    const headers = readHeaders(await through(this.#inflate, frame.subarray(18)));
    this.#control(types.synReply, Buffer.concat([number(id), await through(this.#deflate, number(0))]));
    onStream(id, headers);
  }

  #control(type: number, body: Buffer): void {
    const head = Buffer.alloc(8);
    head.writeUInt16BE(0x8003, 0);
    head.writeUInt16BE(type, 2);
    head.writeUIntBE(body.length, 5, 3);
    this.#socket.write(Buffer.concat([head, body]));
  }
}

/** Compresses or decompresses headers. All headers of a connection are one zlib stream, flushed after each block. */
const through = (stream: Transform, bytes: Buffer): Promise<Buffer> =>
  new Promise((resolve) => stream.write(bytes, () => resolve(readAll(stream.read()))));

const readAll = (found: unknown): Buffer => (Buffer.isBuffer(found) ? found : Buffer.alloc(0));

/** A count, then names and values, each with its length before it. */
function readHeaders(block: Buffer): ReadonlyMap<string, string> {
  const found: string[] = [];
  for (let at = 4; at + 4 <= block.length;) {
    const length = block.readUInt32BE(at);
    found.push(block.toString('utf8', at + 4, at + 4 + length));
    at += 4 + length;
  }
  return new Map(
    Array.from({ length: found.length / 2 }, (_, index) => [found[2 * index] ?? '', found[2 * index + 1] ?? '']),
  );
}
