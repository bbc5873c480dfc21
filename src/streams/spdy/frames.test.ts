import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { constants, createDeflate } from 'node:zlib';

import fc from 'fast-check';

import type { Frame } from './frames.ts';
import { dataHead, FrameEncoder, FrameParser } from './frames.ts';
import { dictionary, HeaderDecoder, HeaderEncoder, SpdyProtocolError } from './header-block.ts';

const id = fc.integer({ min: 1, max: 0x7fffffff });
const text = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCodePoint(code)),
  maxLength: 40,
});
const headers = fc.dictionary(
  fc.stringMatching(/^[a-z][a-z-]{0,20}$/).filter((name) => name !== '__proto__'),
  text,
  { maxKeys: 8, noNullPrototype: true },
);
const frame: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    type: fc.constantFrom('open' as const, 'reply' as const, 'headers' as const),
    stream: id,
    headers,
    isLast: fc.boolean(),
  }),
  fc.record({
    type: fc.constant('data' as const),
    stream: id,
    data: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    isLast: fc.boolean(),
  }),
  fc.record({ type: fc.constant('reset' as const), stream: id, status: fc.integer({ min: 1, max: 11 }) }),
  fc.record({ type: fc.constant('ping' as const), id }),
  fc.record({ type: fc.constant('goAway' as const), lastStream: id }),
);

/** What frames carry, without the borders of the pieces of data frames. */
function content(frames: readonly Frame[]): unknown {
  const data: Record<number, string> = {};
  const others: string[] = [];
  for (const each of frames) {
    if (each.type !== 'data') others.push(JSON.stringify(each));
    else data[each.stream] = `${data[each.stream] ?? ''}${each.data.toString('hex')}${each.isLast ? '.' : ''}`;
  }
  return { data, others };
}

const cut = (bytes: Buffer, sizes: readonly number[]): readonly Buffer[] => {
  const chunks: Buffer[] = [];
  let from = 0;
  for (let index = 0; from < bytes.length; index++) {
    const size = Math.max(1, sizes[index % sizes.length] ?? 1);
    chunks.push(bytes.subarray(from, from + size));
    from += size;
  }
  return chunks;
};

suite('frames', () => {
  test('survive a round trip', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 10 }), (frames) => {
        const encoder = new FrameEncoder();
        const bytes = Buffer.concat(frames.map((each) => encoder.encode(each)));
        assert.deepEqual(content(new FrameParser().push(bytes)), content(frames));
      }),
    );
  });

  test('do not depend on the chunks in which they arrive', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
        (frames, sizes) => {
          const encoder = new FrameEncoder();
          const bytes = Buffer.concat(frames.map((each) => encoder.encode(each)));
          const parser = new FrameParser();
          const parsed = cut(bytes, sizes).flatMap((chunk) => parser.push(chunk));
          assert.deepEqual(content(parsed), content(frames));
        },
      ),
    );
  });

  test('have the bytes of SPDY/3.1', () => {
    const encoder = new FrameEncoder();
    assert.equal(encoder.encode({ type: 'ping', id: 1 }).toString('hex'), '800300060000000400000001');
    assert.equal(
      encoder.encode({ type: 'reset', stream: 5, status: 5 }).toString('hex'),
      '80030003000000080000000500000005',
    );
    assert.equal(encoder.encode({ type: 'goAway', lastStream: 7 }).toString('hex'), '80030007000000080000000700000000');
    assert.equal(dataHead(3, 258, true).toString('hex'), '0000000301000102');
  });

  const hostile: readonly { readonly name: string; readonly bytes: string; readonly error: RegExp }[] = [
    { name: 'another version', bytes: '8002000600000004', error: /SPDY version 2/ },
    { name: 'a control frame above the limit', bytes: '80030001ffffffff', error: /exceeds 65536/ },
    { name: 'data for stream 0', bytes: '0000000000000001', error: /stream 0/ },
    { name: 'a SYN_STREAM without headers', bytes: '800300010000000400000001', error: /truncated/ },
    { name: 'a RST_STREAM for stream 0', bytes: '80030003000000080000000000000001', error: /stream 0/ },
    { name: 'a PING without an id', bytes: '8003000600000000', error: /truncated PING/ },
    { name: 'headers that are not zlib', bytes: '80030002000000060000000100ff', error: /not compressed/ },
    {
      name: 'headers that are not deflate',
      bytes: '8003000200000009000000017801ffffff',
      error: /cannot be decompressed/,
    },
  ];
  for (const { name, bytes, error } of hostile) {
    test(`rejects ${name}`, () => {
      assert.throws(() => new FrameParser().push(Buffer.from(bytes, 'hex')), { message: error });
    });
  }

  test('ignores frames without a meaning, such as WINDOW_UPDATE and SETTINGS', () => {
    const parser = new FrameParser();
    assert.deepEqual(parser.push(Buffer.from('80030009000000080000000100001000', 'hex')), []);
    assert.deepEqual(parser.push(Buffer.from('800300040000000400000000', 'hex')), []);
  });

  test('random bytes give frames or a protocol error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          new FrameParser().push(Buffer.from(bytes));
        } catch (error) {
          assert.ok(error instanceof SpdyProtocolError, String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

suite('headers', () => {
  test('decodes what a compressor with one context for the connection sends', async () => {
    const deflate = createDeflate({ dictionary });
    const chunks: Buffer[] = [];
    deflate.on('data', (chunk: Buffer) => chunks.push(chunk));
    const decoder = new HeaderDecoder();
    for (const given of [{ streamtype: 'error', port: '80' }, { streamtype: 'data', port: '80', requestid: '1' }, {}]) {
      // The text of a block, without our zlib header, block header and sync marker.
      const plain = withoutFraming(new HeaderEncoder().encode(given));
      deflate.write(plain);
      await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, () => resolve()));
      assert.deepEqual(decoder.decode(Buffer.concat(chunks.splice(0))), given);
    }
    deflate.close();
  });

  test('encodes what a decompressor with one context for the connection reads', () => {
    const encoder = new HeaderEncoder();
    const decoder = new HeaderDecoder();
    for (const given of [{ a: 'b' }, { a: 'b', c: 'd' }])
      assert.deepEqual(decoder.decode(encoder.encode(given)), given);
  });

  test('rejects headers that inflate to more than the limit', () => {
    const encoder = new HeaderEncoder();
    const decoder = new HeaderDecoder();
    assert.throws(() => encoder.encode({ a: 'x'.repeat(70_000) }), SpdyProtocolError);
    const block = Buffer.from(encoder.encode({ a: 'b' }));
    block.writeUInt32BE(0xffffffff, 11); // the number of headers
    assert.throws(() => decoder.decode(block), SpdyProtocolError);
  });

  test('decodes nothing twice and no header twice', () => {
    const count = Buffer.from('00000002', 'hex');
    const header = Buffer.from('00000001610000000162', 'hex'); // a: b
    assert.throws(
      () => new HeaderDecoder().decode(stored(Buffer.concat([count, header, header]))),
      /duplicate header "a"/,
    );
    const one = Buffer.from('00000001', 'hex');
    assert.throws(
      () => new HeaderDecoder().decode(stored(Buffer.concat([one, header, header]))),
      /bytes after the headers/,
    );
  });
});

const withoutFraming = (block: Buffer): Buffer => block.subarray(11, -5);

/** A zlib stream of one stored block. */
function stored(content: Buffer): Buffer {
  const length = Buffer.alloc(5);
  length.writeUInt16LE(content.length, 1);
  length.writeUInt16LE(~content.length & 0xffff, 3);
  return Buffer.concat([Buffer.from([0x78, 0x01]), length, content]);
}
