import assert from 'node:assert/strict';
import { test } from 'node:test';
import dnsPacket from 'dns-packet';
import fc from 'fast-check';
import type { RecordData } from './data.ts';
import { recordTypes } from './data.ts';
import { typeName, typeNumber } from './codes.ts';
import type { Edns, Message } from './message.ts';
import { rcodeOf, readHeader, readMessage, readQuestion } from './message.ts';
import { encodeRecord, readData } from './record.ts';
import type { OwnRecord } from './writer.ts';
import { MessageWriter } from './writer.ts';

// Few labels, so that names share suffixes and are compressed.
const label = fc.constantFrom('a', 'b', 'web', '_http', '_tcp', '7up', 'x'.repeat(63));
const name = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join('.'));
const uint16 = fc.nat(0xffff);
const uint32 = fc.nat(0xffff_ffff);

const data: fc.Arbitrary<RecordData> = fc.oneof(
  fc.ipV4().map((address) => ({ type: 'A' as const, address })),
  fc.constantFrom('::1', 'fd00:10::7', '2001:db8::1:0:0:1').map((address) => ({ type: 'AAAA' as const, address })),
  fc.record({ type: fc.constantFrom('NS' as const, 'CNAME' as const, 'PTR' as const), target: name }),
  fc.record({ type: fc.constant('SRV' as const), priority: uint16, weight: uint16, port: uint16, target: name }),
  fc.record({
    type: fc.constant('TXT' as const),
    text: fc.array(fc.string({ maxLength: 60 }), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    type: fc.constant('SOA' as const),
    primary: name,
    mailbox: name,
    serial: uint32,
    refresh: uint32,
    retry: uint32,
    expire: uint32,
    minimum: uint32,
  }),
);
const record: fc.Arbitrary<OwnRecord> = fc.record({ owner: name, ttl: fc.nat(0x7fff_ffff), data });
const edns: fc.Arbitrary<Edns> = fc.record({
  version: fc.constant(0),
  size: uint16,
  dnssecOk: fc.boolean(),
  extendedRcode: fc.nat(255),
  options: fc.array(fc.record({ code: fc.integer({ min: 100, max: 999 }), data: fc.uint8Array() }), { maxLength: 3 }),
});
const sections = fc.record({
  question: fc.record({ name, type: uint16, class: uint16 }),
  id: uint16,
  flags: uint16,
  answers: fc.array(record, { maxLength: 8 }),
  authority: fc.array(record, { maxLength: 3 }),
  edns: fc.option(edns, { nil: undefined }),
});
type Sections = typeof sections extends fc.Arbitrary<infer Value> ? Value : never;

function write(given: Sections): Uint8Array {
  const writer = new MessageWriter();
  const counts = { questions: 1, answers: given.answers.length, authorities: given.authority.length };
  writer.header({ id: given.id, flags: given.flags, ...counts, additionals: given.edns === undefined ? 0 : 1 });
  assert.ok(writer.question(given.question));
  for (const each of [...given.answers, ...given.authority]) assert.ok(writer.record(each));
  if (given.edns !== undefined) assert.ok(writer.opt(given.edns));
  return writer.bytes();
}

/** A record in the form of dns-packet. */
function asPacket({ owner, ttl, data: of }: OwnRecord): object {
  const common = { name: owner, type: of.type, ttl, class: 'IN', flush: false };
  switch (of.type) {
    case 'A':
    case 'AAAA':
      return { ...common, data: of.address };
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return { ...common, data: of.target };
    case 'SRV':
      return { ...common, data: { priority: of.priority, weight: of.weight, port: of.port, target: of.target } };
    case 'TXT':
      return { ...common, data: of.text.map((text) => Buffer.from(text)) };
    case 'SOA': {
      const { serial, refresh, retry, expire, minimum } = of;
      const names = { mname: of.primary, rname: of.mailbox };
      return { ...common, data: { ...names, serial, refresh, retry, expire, minimum } };
    }
  }
}

test('an independent decoder reads encoded messages', () =>
  fc.assert(
    fc.property(sections, (given) => {
      // dns-packet supports neither all classes nor all combinations of flags; the round trip below does.
      const bytes = write({ ...given, flags: 0x8400, question: { ...given.question, type: 1, class: 1 } });
      const read = dnsPacket.decode(Buffer.from(bytes));
      assert.equal(read.questions?.[0]?.name, given.question.name);
      const plain = (each: unknown): unknown => JSON.parse(JSON.stringify(each));
      assert.deepEqual(plain(read.answers), plain(given.answers.map(asPacket)));
      assert.deepEqual(plain(read.authorities), plain(given.authority.map(asPacket)));
    }),
  ));

const asRaw = ({ owner, ttl, data: of }: OwnRecord): object => ({
  owner,
  ttl,
  class: 1,
  type: recordTypes[of.type],
  data: encodeRecord(of),
});

test('messages survive a round trip', () =>
  fc.assert(
    fc.property(sections, (given) => {
      const bytes = write(given);
      const read = readMessage(bytes) ?? assert.fail();
      assert.deepEqual(read.questions, [structuredClone(given.question)]);
      assert.deepEqual(read.answers, given.answers.map(asRaw));
      assert.deepEqual(read.edns, structuredClone(given.edns));
      for (const [index, each] of given.answers.entries()) {
        assert.deepEqual(
          readData(recordTypes[each.data.type], read.answers[index]?.data ?? bytes),
          structuredClone(each.data),
        );
      }
      assert.deepEqual(rewrite(read), bytes);
    }),
  ));

function rewrite(message: Message): Uint8Array {
  const writer = new MessageWriter();
  writer.header(message.header);
  for (const question of message.questions) writer.question(question);
  for (const each of [...message.answers, ...message.authority]) writer.rawRecord(each);
  if (message.edns !== undefined) writer.opt(message.edns);
  return writer.bytes();
}

test('parsing a mutated message never throws', () =>
  fc.assert(
    fc.property(sections, fc.array(fc.tuple(fc.nat(), fc.nat(255))), fc.nat(), (given, changes, cut) => {
      const bytes = write(given);
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      for (const mutated of [bytes, bytes.subarray(0, cut % bytes.length)]) {
        readHeader(mutated);
        readQuestion(mutated);
        const read = readMessage(mutated);
        if (read === undefined) continue;
        rcodeOf(read);
        for (const each of [...read.answers, ...read.authority]) readData(each.type, each.data);
        const writer = new MessageWriter();
        for (const each of [...read.answers, ...read.authority, ...read.additional]) assert.ok(writer.rawRecord(each));
      }
    }),
    { numRuns: 2_000 },
  ));

test('parsing random bytes never throws', () =>
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void readMessage(bytes)),
    { numRuns: 2_000 },
  ));

test('omits records that do not fit, and still writes smaller ones after them', () => {
  const writer = new MessageWriter(60);
  writer.header({ id: 1, flags: 0, questions: 1, answers: 0, authorities: 0, additionals: 0 });
  assert.ok(writer.question({ name: 'web.a', type: 1, class: 1 }));
  const { length } = writer;
  const long: OwnRecord = { owner: 'long.example.org', ttl: 5, data: { type: 'TXT', text: ['x'.repeat(40)] } };
  assert.equal(writer.record(long), false);
  assert.equal(writer.length, length);
  // No pointer may refer to the owner of an omitted record.
  assert.ok(writer.record({ owner: 'example.org', ttl: 5, data: { type: 'A', address: '192.0.2.1' } }));
  const read = dnsPacket.decode(Buffer.from(Uint8Array.from(writer.bytes()).fill(1, 7, 8)));
  assert.equal(read.answers?.[0]?.name, 'example.org');
});

const impossible: readonly RecordData[] = [
  { type: 'A', address: 'fd00::1' },
  { type: 'AAAA', address: '192.0.2.1' },
  { type: 'A', address: 'example.org' },
  { type: 'CNAME', target: `${'a'.repeat(64)}.org` },
  { type: 'CNAME', target: 'a..org' },
  { type: 'SRV', priority: 0, weight: 0, port: 1, target: 'host..ns.svc' },
  { type: 'TXT', text: [] },
  { type: 'TXT', text: ['x'.repeat(256)] },
];

for (const each of impossible) {
  test(`cannot be encoded: ${JSON.stringify(each).slice(0, 60)}`, () => {
    assert.equal(encodeRecord(each), undefined);
    assert.equal(new MessageWriter().record({ owner: 'a', ttl: 1, data: each }), false);
  });
}

const typeTexts = [
  { text: 'aaaa', want: 28 },
  { text: 'TYPE65280', want: 65_280 },
  { text: 'TYPE65536', want: undefined },
  { text: 'toString', want: undefined },
];

for (const { text, want } of typeTexts) {
  test(`the type ${text} is ${want}`, () => assert.equal(typeNumber(text), want));
}

test('prints types by name, or by number as in RFC 3597', () => {
  assert.equal(typeName(33), 'SRV');
  assert.equal(typeName(65_280), 'TYPE65280');
});
