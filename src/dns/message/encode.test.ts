import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RecordSet } from '../../dnswire/data.ts';
import { flagBits, rcodes, types } from '../../dnswire/codes.ts';
import type { Message } from '../../dnswire/message.ts';
import { isTruncated, readMessage } from '../../dnswire/message.ts';
import { answer } from '../answer/answer.ts';
import type { EncodeContext } from './encode.ts';
import { encode } from './encode.ts';
import { printEntry } from './print.ts';
import type { Reply } from './reply.ts';
import { emptyReply } from './reply.ts';
import type { QueryOptions } from '../answer/testing/sample.ts';
import { sampleQuery, sampleZones } from '../answer/testing/sample.ts';

const context: EncodeContext = { protocol: 'udp', recursion: false, rotation: 0 };
const owner = 'big.default.svc.cluster.local';

function addresses(count: number, name = owner): RecordSet {
  const data = Array.from({ length: count }, (_, index) => ({
    type: 'A' as const,
    address: `10.0.${index >> 8}.${index & 255}`,
  }));
  return { owner: name, type: 'A', ttl: 5, data };
}

const replyWith = (answers: Reply['answers'], additional: Reply['additional'] = []): Reply => ({
  ...emptyReply(rcodes.NOERROR),
  authoritative: true,
  answers,
  additional,
});

function send(
  reply: Reply,
  query: QueryOptions = {},
  more: Partial<EncodeContext> = {},
): { readonly bytes: Uint8Array; readonly message: Message } {
  const bytes = encode(sampleQuery(owner, 'A', query), reply, { ...context, ...more });
  return { bytes, message: readMessage(bytes) ?? assert.fail() };
}

const sizes: readonly {
  readonly name: string;
  readonly query?: QueryOptions;
  readonly protocol?: 'udp' | 'tcp';
  readonly limit: number;
}[] = [
  { name: 'without EDNS', limit: 512 },
  { name: 'with EDNS size 100', query: { size: 100 }, limit: 512 },
  { name: 'with EDNS size 800', query: { size: 800 }, limit: 800 },
  { name: 'with EDNS size 1232', query: { size: 1232 }, limit: 1232 },
  { name: 'with EDNS size 4096', query: { size: 4096 }, limit: 1232 },
  { name: 'over TCP', protocol: 'tcp', limit: 65_535 },
];

for (const { name, query = {}, protocol = 'udp', limit } of sizes) {
  test(`${name} a reply has at most ${limit} bytes, and TC if records are missing`, () => {
    const { bytes, message } = send(replyWith([addresses(5000)]), query, { protocol });
    assert.ok(bytes.length <= limit && bytes.length > limit - 16, String(bytes.length));
    assert.ok(isTruncated(message.header));
    assert.ok(message.answers.length > 0);
    assert.equal(message.edns === undefined, query.size === undefined);
    const few = send(replyWith([addresses(10)]), query, { protocol });
    assert.ok(!isTruncated(few.message.header));
  });
}

test('omits whole additional sets that do not fit, without TC', () => {
  const glue = [addresses(10, `one.${owner}`), addresses(100, `two.${owner}`)];
  const { bytes, message } = send(replyWith([addresses(1)], glue));
  assert.ok(bytes.length <= 512);
  assert.ok(!isTruncated(message.header));
  assert.equal(message.additional.length, 10);
});

test('rotates the records of a set, also if they do not all fit', () => {
  const firsts = new Set<string>();
  for (let rotation = 0; rotation < 2 ** 32; rotation += 2 ** 24) {
    const { message } = send(replyWith([addresses(100)]), {}, { rotation });
    firsts.add(printEntry(message.answers[0] ?? assert.fail())[0] ?? '');
  }
  assert.equal(firsts.size, 100);
});

test('does not rotate PTR records', () => {
  const targets = ['db-0.db.default.svc.cluster.local', '10-0-0-1.web.default.svc.cluster.local'];
  const data = targets.map((target) => ({ type: 'PTR', target }) as const);
  const set: RecordSet = { owner: '1.0.0.10.in-addr.arpa', type: 'PTR', ttl: 5, data };
  for (let rotation = 0; rotation < 2 ** 32; rotation += 2 ** 30) {
    const { message } = send(replyWith([set]), {}, { rotation });
    assert.deepEqual(
      message.answers.map((each) => printEntry(each)[0]?.split(' ').at(-1)),
      targets.map((target) => `${target}.`),
    );
  }
});

test('keeps aliases before their targets', () => {
  const zones = sampleZones();
  const question = { name: 'twice.default.svc.cluster.local', type: types.A };
  for (let rotation = 0; rotation < 2 ** 32; rotation += 2 ** 30) {
    const query = sampleQuery(question.name, 'A');
    const message = readMessage(encode(query, answer(zones, question), { ...context, rotation })) ?? assert.fail();
    assert.deepEqual(
      message.answers.map(({ type }) => type),
      [types.CNAME, types.CNAME, types.A],
    );
  }
});

test('compresses names', () => {
  const { bytes } = send(replyWith([addresses(3)]));
  // Header, question, and 16 bytes for each address.
  assert.equal(bytes.length, 12 + owner.length + 2 + 4 + 3 * 16);
});

test('omits records that cannot be encoded, without TC', () => {
  const data = [{ type: 'A', address: 'nonsense' } as const, { type: 'A', address: '192.0.2.1' } as const];
  const { message } = send(replyWith([{ owner, type: 'A', ttl: 5, data }]));
  assert.equal(message.answers.length, 1);
  assert.ok(!isTruncated(message.header));
});

test('sets AD only for clients that set AD or DO', () => {
  const reply: Reply = { ...replyWith([addresses(1)]), authentic: true };
  const hasAd = (query: QueryOptions): boolean => (send(reply, query).message.header.flags & flagBits.AD) !== 0;
  assert.equal(hasAd({}), false);
  assert.equal(hasAd({ flags: flagBits.AD }), true);
  assert.equal(hasAd({ edns: { dnssecOk: true } }), true);
  assert.equal(send(reply, { edns: { dnssecOk: true } }).message.edns?.dnssecOk, true);
});

test('no UDP reply exceeds the limit of its query', () =>
  fc.assert(
    fc.property(
      fc.nat(200),
      fc.nat(200),
      fc.option(fc.nat(0xffff), { nil: undefined }),
      fc.string({ maxLength: 300 }),
      (answers, extra, size, text) => {
        const query = size === undefined ? {} : { size };
        const reply = {
          ...replyWith([addresses(answers)], [addresses(extra, `x.${owner}`)]),
          error: { code: 0, text },
        };
        const { bytes, message } = send(reply, query);
        assert.ok(bytes.length <= Math.max(512, Math.min(size ?? 512, 1232)));
        assert.equal(isTruncated(message.header), message.answers.length < answers);
      },
    ),
  ));

test('omits an extended error text that does not fit', () => {
  const name = `${'a'.repeat(63)}.`.repeat(3) + 'b'.repeat(61);
  const reply = emptyReply(rcodes.SERVFAIL, { code: 0, text: 'x'.repeat(400) });
  const bytes = encode(sampleQuery(name, 'A', { size: 512 }), reply, context);
  const message = readMessage(bytes) ?? assert.fail();
  assert.equal(message.questions[0]?.name, name);
  assert.deepEqual(message.edns?.options, []);
});
