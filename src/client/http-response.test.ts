import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ResponseReader } from './http-response.ts';

interface Read {
  readonly status: number;
  readonly body: string;
  readonly isReusable: boolean | undefined;
}

/** Parses a response that arrives in these pieces. */
function readAll(pieces: readonly string[], isClosed = false): Read {
  let [status, body, isReusable]: [number, string, boolean | undefined] = [0, '', undefined];
  const reader = new ResponseReader({
    head: (head) => (status = head.status),
    body: (bytes, from, to) => (body += bytes.toString('latin1', from, to)),
    end: (reusable) => (isReusable = reusable),
  });
  for (const piece of pieces) reader.push(Buffer.from(piece, 'latin1'));
  if (isClosed) reader.close();
  return { status, body, isReusable };
}

const responses: readonly { readonly name: string; readonly text: string; readonly want: Read; isClosed?: true }[] = [
  {
    name: 'a body with Content-Length',
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    want: { status: 200, body: 'hello', isReusable: true },
  },
  {
    name: 'chunks with an extension',
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\nA\r\n and more\n\r\n0\r\n\r\n',
    want: { status: 200, body: 'hello and more\n', isReusable: true },
  },
  {
    name: 'trailers are skipped',
    text: 'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\nDigest: abc\r\nOther: 1\r\n\r\n',
    want: { status: 200, body: 'x', isReusable: true },
  },
  {
    name: '100 Continue and 103 Early Hints before the response',
    text: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 \r\nContent-Length: 2\r\n\r\n{}',
    want: { status: 201, body: '{}', isReusable: true },
  },
  {
    name: 'no body',
    text: 'HTTP/1.1 204 No Content\r\n\r\n',
    want: { status: 204, body: '', isReusable: true },
  },
  {
    name: 'an empty body',
    text: 'HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n',
    want: { status: 200, body: '', isReusable: true },
  },
  {
    name: 'connection: close',
    text: 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx',
    want: { status: 200, body: 'x', isReusable: false },
  },
  {
    name: 'an HTTP/1.0 body that ends with the connection',
    text: 'HTTP/1.0 200 OK\r\n\r\nall of it',
    isClosed: true,
    want: { status: 200, body: 'all of it', isReusable: false },
  },
  {
    name: 'HTTP/1.0 with keep-alive',
    text: 'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx',
    want: { status: 200, body: 'x', isReusable: true },
  },
  {
    name: 'chunks win over Content-Length, and the connection is not reused',
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
    want: { status: 200, body: 'x', isReusable: false },
  },
  {
    name: 'Content-Length twice with the same value',
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx',
    want: { status: 200, body: 'x', isReusable: true },
  },
];

for (const { name, text, want, isClosed } of responses) {
  test(`parses ${name}, however it is split`, () => {
    assert.deepEqual(readAll([text], isClosed), want);
    assert.deepEqual(readAll(text.split(''), isClosed), want);
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: text.length - 1 }), { maxLength: 8 });
    fc.assert(
      fc.property(cuts, (unsorted) => {
        const at = [0, ...unsorted.sort((left, right) => left - right), text.length];
        const pieces = at.slice(1).map((end, index) => text.slice(at[index], end));
        assert.deepEqual(readAll(pieces, isClosed), want);
      }),
      { numRuns: 50 },
    );
  });
}

const rejected: readonly (readonly [name: string, text: string, message: RegExp])[] = [
  ['another protocol', 'SSH-2.0-OpenSSH\r\n\r\n', /not an HTTP\/1.1 response/],
  ['another version', 'HTTP/2.0 200 OK\r\n\r\n', /not an HTTP\/1.1 response/],
  ['a folded header', 'HTTP/1.1 200 OK\r\nA: 1\r\n b\r\n\r\n', /not a header/],
  ['a space before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n', /not a header/],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', /Content-Length/],
  ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n', /Content-Length/],
  ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', /gzip/],
  ['an invalid chunk size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n', /chunk size/],
  [
    'a chunk that exceeds its size',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz',
    /longer than its size/,
  ],
  ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', /switches protocols/],
  [
    'data after the response',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n',
    /more than the response/,
  ],
  ['endless headers', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(20_000)}`, /65536 bytes of headers/],
  ['an endless chunk size', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'0'.repeat(2000)}`, /chunk size/],
];

for (const [name, text, message] of rejected) {
  test(`rejects ${name}`, () => {
    assert.throws(() => readAll([text]), { message });
  });
}

test('rejects a response that is cut off', () => {
  for (const { text, isClosed } of responses) {
    if (isClosed) continue;
    assert.throws(() => readAll([text.slice(0, -1)], true), {
      message: 'the server closed the connection before the response was complete',
    });
  }
});

test('arbitrary bytes cause only parse errors', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 40 })), fc.nat(3), (pieces, kind) => {
      const begins = ['', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 'HTTP/1.'];
      try {
        readAll([begins[kind] ?? '', ...pieces], true);
      } catch (error) {
        assert.ok(error instanceof Error && !(error instanceof TypeError), String(error));
      }
    }),
    { numRuns: 300 },
  );
});
