import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { decode } from 'dns-packet';
import fc from 'fast-check';

import { optionCodes, types } from '../../dnswire/codes.ts';
import { readMessage } from '../../dnswire/message.ts';
import type { UpstreamQuery } from './query.ts';
import { encodeQuery, isForwardable, replyTo } from './query.ts';
import { extract } from './extract.ts';

const query: UpstreamQuery = {
  question: { name: 'www.example.org', type: types.AAAA, class: 1 },
  dnssecOk: true,
  checkingDisabled: true,
  hops: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
};

function encoded(changes: Partial<UpstreamQuery> = {}, cases?: Uint8Array): Buffer {
  const bytes = encodeQuery({ ...query, ...changes }, { id: 0x1234, edns: true, ...(cases && { cases }) });
  assert.ok(bytes !== undefined);
  return Buffer.from(bytes);
}

suite('encodeQuery', () => {
  test('can be decoded by another codec', () => {
    const packet = decode(encoded());
    assert.equal(packet.id, 0x1234);
    assert.deepEqual(packet.questions, [{ name: 'www.example.org', type: 'AAAA', class: 'IN' }]);
    const [opt] = packet.additionals ?? [];
    assert.ok(opt?.type === 'OPT' && opt.flag_do && opt.udpPayloadSize === 1232);
    assert.equal(packet.flag_cd && packet.flag_rd, true);
    assert.equal(opt.options[0]?.code, optionCodes.HOPS);
  });

  test('omits an empty list of hops', () => {
    assert.deepEqual(readMessage(encoded({ hops: new Uint8Array() }))?.edns?.options, []);
  });

  test('mixed case changes only letters', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (cases) => {
        const name = 'abc-19.x\\200y._tcp.example.org';
        assert.equal(readMessage(encoded({ question: { ...query.question, name } }, cases))?.questions[0]?.name, name);
      }),
    );
  });

  test('rejects an invalid name', () => {
    const question = { ...query.question, name: `${'x'.repeat(64)}.org` };
    assert.equal(encodeQuery({ ...query, question }, { id: 1, edns: true }), undefined);
  });

  test('only questions for records are forwarded', () => {
    const forwardable = (type: number): boolean => isForwardable({ ...query.question, type });
    assert.deepEqual([1, 28, 65, 255, 65_280].map(forwardable), [true, true, true, true, true]);
    assert.deepEqual([0, 41, 128, 249, 250, 251, 252, 253, 254].filter(forwardable), []);
  });
});

test('replyTo never throws', () => {
  const sent = encoded();
  const right = Buffer.concat([sent]);
  right.writeUInt16BE(0x8180, 2);
  assert.ok(replyTo(sent, right)?.keepsCase);
  const mutation = fc.record({ at: fc.nat(sent.length - 1), byte: fc.nat(255) });
  const mutated = fc
    .record({
      mutations: fc.array(mutation, { maxLength: 4 }),
      length: fc.nat(sent.length + 20),
      tail: fc.uint8Array({ maxLength: 40 }),
    })
    .map(({ mutations, length, tail }) => {
      const bytes = Buffer.from(right);
      for (const { at, byte } of mutations) bytes[at] = byte;
      return Buffer.concat([bytes.subarray(0, length), tail]);
    });
  fc.assert(
    fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 100 })), (bytes) => {
      const reply = replyTo(sent, bytes);
      if (reply === undefined) return;
      assert.deepEqual([bytes[0], bytes[1]], [0x12, 0x34], 'the id is ours');
      if (reply.truncated) return;
      const { answer } = extract(query.question, reply.message);
      assert.ok(answer.answers.length <= reply.message.answers.length);
    }),
    { numRuns: 3000 },
  );
});
