import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { classes, flagBits, optionCodes, rcodes } from '../../dnswire/codes.ts';
import { rcodeOf, readMessage } from '../../dnswire/message.ts';
import { concat, uint16s } from '../../dnswire/record.ts';
import { Cookies } from './cookie.ts';
import type { MessageContext } from './protocol.ts';
import { check } from './protocol.ts';
import { queryBytes } from '../answer/testing/sample.ts';

const context: MessageContext = { protocol: 'udp', address: '192.0.2.1', recursion: true, nowSeconds: 1_700_000_000 };

const good = queryBytes('web.default.svc.cluster.local', 'A');
const withOpt = queryBytes('web.default.svc.cluster.local', 'A', { size: 1232 });
const changed = (bytes: Uint8Array, at: number, ...values: number[]): Uint8Array => {
  const copy = Uint8Array.from(bytes);
  copy.set(values, at);
  return copy;
};
const opcode = (number: number): Uint8Array => changed(good, 2, (number << 3) | 1);
const opt = withOpt.subarray(-11);
const cookie = (data: Uint8Array): Uint8Array =>
  queryBytes('a', 'A', { size: 1232, options: [{ code: optionCodes.COOKIE, data }] });
const cookies = new Cookies({ secrets: [new Uint8Array(16)] });

const cases: readonly {
  readonly name: string;
  readonly given: Uint8Array;
  readonly want: 'drop' | 'query' | keyof typeof rcodes;
  readonly hasQuestion?: boolean;
  readonly context?: Partial<MessageContext>;
}[] = [
  { name: 'a query', given: good, want: 'query' },
  { name: 'a query with OPT', given: withOpt, want: 'query' },
  { name: 'a response', given: changed(good, 2, 0x81), want: 'drop' },
  { name: 'nothing', given: new Uint8Array(), want: 'drop' },
  { name: '11 bytes', given: good.subarray(0, 11), want: 'drop' },
  { name: 'STATUS', given: opcode(2), want: 'NOTIMP', hasQuestion: false },
  { name: 'UPDATE', given: opcode(5), want: 'NOTIMP', hasQuestion: false },
  { name: 'an unknown opcode', given: opcode(15), want: 'NOTIMP', hasQuestion: false },
  { name: 'NOTIFY', given: opcode(4), want: 'NOTAUTH', hasQuestion: false },
  { name: 'no question', given: changed(good, 4, 0, 0), want: 'FORMERR', hasQuestion: false },
  { name: 'two questions (RFC 9619)', given: changed(good, 4, 0, 2), want: 'FORMERR', hasQuestion: false },
  { name: 'two answers', given: changed(good, 6, 0, 2), want: 'FORMERR', hasQuestion: false },
  { name: 'two authorities', given: changed(good, 8, 0, 2), want: 'FORMERR', hasQuestion: false },
  { name: 'three additionals', given: changed(good, 10, 0, 3), want: 'FORMERR', hasQuestion: false },
  { name: 'a missing record', given: changed(good, 10, 0, 1), want: 'FORMERR', hasQuestion: false },
  { name: 'a header alone', given: good.subarray(0, 12), want: 'FORMERR', hasQuestion: false },
  { name: 'a question cut off', given: good.subarray(0, -1), want: 'FORMERR', hasQuestion: false },
  { name: 'a pointer in the question', given: changed(good, 12, 0xc0, 0x04), want: 'FORMERR', hasQuestion: false },
  { name: 'bytes after the end', given: concat([good, new Uint8Array(9)]), want: 'query' },
  { name: 'two OPT', given: concat([changed(withOpt, 10, 0, 2), opt]), want: 'FORMERR', hasQuestion: false },
  {
    name: 'an option cut off',
    given: changed(cookie(new Uint8Array(8)), 12 + 7 + 13, 0xff),
    want: 'FORMERR',
    hasQuestion: false,
  },
  { name: 'class CH', given: queryBytes('version.bind', 'TXT', { class: classes.CH }), want: 'REFUSED' },
  { name: 'class ANY', given: queryBytes('a', 'A', { class: classes.ANY }), want: 'REFUSED' },
  { name: 'EDNS version 1', given: queryBytes('a', 'A', { edns: { version: 1 } }), want: 'BADVERS' },
  {
    name: 'EDNS version 1 in another class',
    given: queryBytes('a', 'A', { class: 3, edns: { version: 1 } }),
    want: 'BADVERS',
  },
  {
    name: 'a malformed cookie',
    given: cookie(new Uint8Array(3)),
    want: 'FORMERR',
    hasQuestion: false,
    context: { cookies },
  },
  { name: 'a malformed cookie if cookies are disabled', given: cookie(new Uint8Array(3)), want: 'query' },
  { name: 'a client cookie', given: cookie(new Uint8Array(8)), want: 'query', context: { cookies } },
];

for (const { name, given, want, hasQuestion = true, context: more } of cases) {
  test(`${name}: ${want}`, () => {
    const verdict = check(given, { ...context, ...more });
    if (verdict.kind !== 'reply') return assert.equal(verdict.kind, want);
    const message = readMessage(verdict.bytes) ?? assert.fail();
    assert.equal(rcodeOf(message), want in rcodes ? rcodes[want as keyof typeof rcodes] : want);
    assert.deepEqual(verdict.bytes.subarray(0, 2), given.subarray(0, 2));
    assert.equal(message.header.flags & flagBits.QR, flagBits.QR);
    assert.equal(message.header.flags & 0x7800, ((given[2] ?? 0) << 8) & 0x7800);
    return assert.equal(message.questions.length, hasQuestion ? 1 : 0);
  });
}

test('returns a valid cookie unchanged', () => {
  const first = check(cookie(new Uint8Array(8)), { ...context, cookies });
  assert.equal(first.kind, 'query');
  const given = first.kind === 'query' ? (first.cookie ?? assert.fail()) : assert.fail();
  const second = check(cookie(given), { ...context, cookies });
  assert.deepEqual(second.kind === 'query' && second.cookie, given);
});

test('never throws, and no error reply is longer than its query', () =>
  fc.assert(
    fc.property(
      fc.constantFrom(good, withOpt, cookie(new Uint8Array(24))),
      fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 6 }),
      fc.nat(100),
      (bytes, changes, cut) => {
        const mutated = Uint8Array.from(bytes.subarray(0, cut + 4));
        for (const [at, byte] of changes) if (at < mutated.length) mutated[at] = byte;
        const verdict = check(mutated, { ...context, cookies });
        if (verdict.kind === 'reply') assert.ok(verdict.bytes.length <= mutated.length);
      },
    ),
    { numRuns: 5_000 },
  ));

test('copies RD and CD of the query, and no other flags', () => {
  const bytes = queryBytes('a', 'A', { class: 3, flags: 0x0100 | 0x0010 | 0x0040 | 0x0020 });
  const verdict = check(bytes, { ...context, recursion: false });
  assert.ok(verdict.kind === 'reply');
  assert.deepEqual(verdict.bytes.subarray(2, 4), uint16s(0x8110 | rcodes.REFUSED));
});
