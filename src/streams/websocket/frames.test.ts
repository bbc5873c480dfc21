import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import type { Frame } from './frames.ts';
import { closePayload, encodeFrame, FrameParser, WebSocketProtocolError } from './frames.ts';

const mask = Buffer.from('a1b2c3d4', 'hex');
const hex = (text: string): Buffer => Buffer.from(text, 'hex');

/** The messages in frames, and the control frames. */
function content(frames: readonly Frame[]): readonly string[] {
  const all: string[] = [];
  let message = '';
  for (const frame of frames) {
    if (frame.type === 'close') all.push(`close ${frame.code}`);
    else if (frame.type !== 'data') all.push(`${frame.type} ${frame.data.toString('hex')}`);
    else {
      if (frame.isFirst) message = frame.isText ? 'text ' : 'binary ';
      message += frame.data.toString('hex');
      if (frame.isLast) all.push(message);
    }
  }
  return all;
}

suite('WebSocket frames', () => {
  const table: readonly { readonly name: string; readonly bytes: string; readonly want: readonly string[] }[] = [
    // RFC 6455 §5.7
    { name: 'a masked text message', bytes: '818537fa213d7f9f4d5158', want: ['text 48656c6c6f'] },
    { name: 'a fragmented message', bytes: '01830000000048656c' + '8082000000006c6f', want: ['text 48656c6c6f'] },
    {
      name: 'a ping inside a fragmented message',
      bytes: '0182000000004142' + '898100000000ff' + '80810000000043',
      want: ['ping ff', 'text 414243'],
    },
    { name: 'an empty message', bytes: '828000000000', want: ['binary '] },
    { name: 'a close frame without a code', bytes: '888000000000', want: ['close 1005'] },
    { name: 'a close frame', bytes: '88820000000003e8', want: ['close 1000'] },
  ];
  for (const { name, bytes, want } of table) {
    test(`parses ${name}, in one chunk and byte by byte`, () => {
      assert.deepEqual(content(new FrameParser('client').push(hex(bytes))), want);
      const parser = new FrameParser('client');
      const frames = [...hex(bytes)].flatMap((byte) => parser.push(Buffer.of(byte)));
      assert.deepEqual(content(frames), want);
    });
  }

  test('survive a round trip, masked and not, in chunks of any size', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 50 }),
        (payloads, isMasked, size) => {
          const bytes = Buffer.concat(
            payloads.map((payload) => encodeFrame('binary', Buffer.from(payload), isMasked ? mask : undefined)),
          );
          const parser = new FrameParser(isMasked ? 'client' : 'server');
          const frames: Frame[] = [];
          for (let from = 0; from < bytes.length; from += size)
            frames.push(...parser.push(bytes.subarray(from, from + size)));
          assert.deepEqual(
            content(frames),
            payloads.map((payload) => `binary ${Buffer.from(payload).toString('hex')}`),
          );
        },
      ),
    );
  });

  test('have lengths of 7, 16 and 64 bits', () => {
    for (const length of [125, 126, 65_535, 65_536, 200_000]) {
      const payload = Buffer.alloc(length, 7);
      const [message = ''] = content(new FrameParser('server').push(encodeFrame('binary', payload)));
      assert.equal(message.length, 'binary '.length + 2 * length);
    }
    assert.deepEqual(content(new FrameParser('server').push(encodeFrame('close', closePayload(1000)))), ['close 1000']);
  });

  const hostile: readonly { readonly name: string; readonly bytes: string; readonly error: RegExp }[] = [
    { name: 'an unmasked frame of a client', bytes: '8105', error: /masking/ },
    { name: 'reserved bits', bytes: 'c18000000000', error: /reserved/ },
    { name: 'an unknown opcode', bytes: '838000000000', error: /opcode 3/ },
    { name: 'an unknown control opcode', bytes: '8b8000000000', error: /opcode 11/ },
    { name: 'a fragmented ping', bytes: '098000000000', error: /control frame/ },
    { name: 'a ping of 126 bytes', bytes: '89fe007e00000000', error: /control frame/ },
    { name: 'a continuation without a message', bytes: '808000000000', error: /message/ },
    { name: 'a message inside a message', bytes: '018000000000' + '818000000000', error: /message/ },
    { name: 'a length above 2^48', bytes: '82ff000100000000000000000000', error: /too long/ },
  ];
  for (const { name, bytes, error } of hostile) {
    test(`rejects ${name}`, () => {
      assert.throws(() => new FrameParser('client').push(hex(bytes)), { message: error });
    });
  }

  test('random bytes give frames or a protocol error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          new FrameParser('client').push(Buffer.from(bytes));
        } catch (error) {
          assert.ok(error instanceof WebSocketProtocolError, String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a message larger than any buffer is delivered in pieces', () => {
    const parser = new FrameParser('client');
    // 2^40 bytes are announced.
    assert.deepEqual(parser.push(hex('82ff0000010000000000' + '00000000')), []);
    const [piece] = parser.push(Buffer.alloc(1000, 1));
    assert.ok(piece?.type === 'data' && piece.data.length === 1000 && !piece.isLast);
  });
});
