import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ResponseReader } from './http-response.ts';

interface Read {
  readonly status: number;
  readonly body: string;
  readonly isReusable: boolean | undefined;
}

/** What is read of an answer that arrives in these pieces. */
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

const answers: readonly { readonly name: string; readonly text: string; readonly want: Read; isClosed?: true }[] = [
  {
    name: 'a counted body',
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    want: { status: 200, body: 'hello', isReusable: true },
  },
  {
    name: 'chunks, with an extension',
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\nA\r\n and more\n\r\n0\r\n\r\n',
    want: { status: 200, body: 'hello and more\n', isReusable: true },
  },
  {
    name: 'trailers are passed over',
    text: 'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\nDigest: abc\r\nOther: 1\r\n\r\n',
    want: { status: 200, body: 'x', isReusable: true },
  },
  {
    name: '100 Continue and early hints come before the answer',
    text: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 \r\nContent-Length: 2\r\n\r\n{}',
    want: { status: 201, body: '{}', isReusable: true },
  },
  {
    name: 'no body at all',
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
    name: 'HTTP/1.0 ends with the connection',
    text: 'HTTP/1.0 200 OK\r\n\r\nall of it',
    isClosed: true,
    want: { status: 200, body: 'all of it', isReusable: false },
  },
  {
    name: 'HTTP/1.0 that is kept',
    text: 'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx',
    want: { status: 200, body: 'x', isReusable: true },
  },
  {
    name: 'both lengths: chunks count, and the connection is not trusted again',
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
    want: { status: 200, body: 'x', isReusable: false },
  },
  {
    name: 'the same length twice',
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx',
    want: { status: 200, body: 'x', isReusable: true },
  },
];

for (const { name, text, want, isClosed } of answers) {
  test(`${name}, however it is cut`, () => {
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

const refused: readonly (readonly [name: string, text: string, message: RegExp])[] = [
  ['what is not HTTP', 'SSH-2.0-OpenSSH\r\n\r\n', /not an answer of HTTP\/1.1/],
  ['another version', 'HTTP/2.0 200 OK\r\n\r\n', /not an answer of HTTP\/1.1/],
  ['a folded header', 'HTTP/1.1 200 OK\r\nA: 1\r\n b\r\n\r\n', /not a header/],
  ['a space before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\n', /not a header/],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', /length/],
  ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n', /length/],
  ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', /gzip/],
  ['a size that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n', /size of a chunk/],
  ['a chunk that goes on', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz', /longer than it says/],
  ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', /switches protocols/],
  [
    'more than was asked for',
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n',
    /more than was asked/,
  ],
  ['endless headers', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(20_000)}`, /65536 bytes of headers/],
  ['an endless size', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'0'.repeat(2000)}`, /size of a chunk/],
];

for (const [name, text, message] of refused) {
  test(`refused: ${name}`, () => {
    assert.throws(() => readAll([text]), { message });
  });
}

test('an answer that breaks off is not taken for a whole one', () => {
  for (const { text, isClosed } of answers) {
    if (isClosed) continue;
    assert.throws(() => readAll([text.slice(0, -1)], true), { message: 'the answer broke off' });
  }
});

test('bytes that mean nothing never do more than throw', () => {
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
