import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeName, expandName, isWithin, labelsOf, parentOf, parseName, readName } from './name.ts';

const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'latin1'));

const readings = [
  { name: 'the root', bytes: '\0', want: { name: '', end: 1 } },
  { name: 'upper case is lowered', bytes: '\x03WwW\x01a\0', want: { name: 'www.a', end: 7 } },
  { name: 'a dot in a label is escaped', bytes: '\x03a.b\x01c\0', want: { name: 'a\\.b.c', end: 7 } },
  { name: 'escapes bytes that are not printable', bytes: '\x03 \xff\0\0', want: { name: '\\032\\255\\000', end: 5 } },
  { name: 'a pointer backwards', bytes: '\x01a\0\x01b\xc0\0', at: 3, want: { name: 'b.a', end: 7 } },
  { name: 'two pointers backwards', bytes: '\x01a\0\x01b\xc0\0\x01c\xc0\x03', at: 7, want: { name: 'c.b.a', end: 11 } },
  { name: 'a pointer to itself', bytes: '\xc0\0', want: undefined },
  { name: 'a pointer forwards', bytes: '\xc0\x02\x01a\0', want: undefined },
  { name: 'a pointer into the name it ends', bytes: '\x01a\x01b\xc0\x02', want: undefined },
  { name: 'two pointers in a ring', bytes: '\xc0\x02\xc0\0', at: 2, want: undefined },
  { name: 'a pointer cut off', bytes: '\x01a\xc0', want: undefined },
  { name: 'a label cut off', bytes: '\x05abc', want: undefined },
  { name: 'no end', bytes: '\x03abc', want: undefined },
  { name: 'an unused label type', bytes: '\x41a\0', want: undefined },
  { name: 'nothing', bytes: '', want: undefined },
  { name: '255 bytes', bytes: `${`\x3f${'a'.repeat(63)}`.repeat(3)}\x3d${'a'.repeat(61)}\0`, wantLength: 253 },
  { name: '256 bytes', bytes: `${`\x3f${'a'.repeat(63)}`.repeat(3)}\x3e${'a'.repeat(62)}\0`, want: undefined },
];

for (const { name, bytes, at = 0, want, wantLength } of readings) {
  test(`reads a name: ${name}`, () => {
    const read = readName(bytesOf(bytes), at);
    if (wantLength === undefined) assert.deepEqual(read, want);
    else assert.equal(read?.name.length, wantLength);
  });
}

test('parses a long chain of pointers', () => {
  // Each pointer refers to the one two bytes before it.
  const bytes = new Uint8Array(0x4000);
  for (let at = 2; at < bytes.length; at += 2) {
    bytes[at] = 0xc0 | ((at - 2) >> 8);
    bytes[at + 1] = (at - 2) & 0xff;
  }
  assert.deepEqual(readName(bytes, 0x3ffe), { name: '', end: 0x4000 });
});

const parsings = [
  { text: '.', want: '' },
  { text: '', want: undefined },
  { text: 'WWW.Example.org.', want: 'www.example.org' },
  { text: 'a..b', want: undefined },
  { text: '.a', want: undefined },
  { text: 'a\\.b.c', want: 'a\\.b.c' },
  { text: 'a\\046b.c', want: 'a\\.b.c' },
  { text: 'a\\065', want: 'aa' },
  { text: 'a\\.', want: 'a\\.' },
  { text: 'a\\\\.', want: 'a\\\\' },
  { text: 'a\\', want: undefined },
  { text: 'a\\256', want: undefined },
  { text: 'a b', want: undefined },
  { text: 'é.org', want: undefined },
  { text: `${'a'.repeat(63)}.org`, want: `${'a'.repeat(63)}.org` },
  { text: `${'a'.repeat(64)}.org`, want: undefined },
  { text: '_http._tcp.7web.default.svc.cluster.local', want: '_http._tcp.7web.default.svc.cluster.local' },
];

for (const { text, want } of parsings) {
  test(`parses ${JSON.stringify(text.slice(0, 20))} as ${JSON.stringify(want?.slice(0, 20))}`, () =>
    assert.equal(parseName(text), want));
}

const relations = [
  { name: 'a.b', ancestor: 'b', want: true },
  { name: 'b', ancestor: 'b', want: true },
  { name: 'ab', ancestor: 'b', want: false },
  { name: 'a\\.b', ancestor: 'b', want: false },
  { name: 'a\\\\.b', ancestor: 'b', want: true },
  { name: 'a', ancestor: '', want: true },
  { name: '', ancestor: 'a', want: false },
];

for (const { name, ancestor, want } of relations) {
  test(`${name} is ${want ? '' : 'not '}within ${ancestor}`, () => assert.equal(isWithin(name, ancestor), want));
}

const label = fc.uint8Array({ minLength: 1, maxLength: 20 });
const wireName = fc
  .array(label, { maxLength: 8 })
  .map((labels) => Uint8Array.from([...labels.flatMap((each) => [each.length, ...each]), 0]));

test('names survive a round trip through text, except for their case', () =>
  fc.assert(
    fc.property(wireName, (wire) => {
      const name = readName(wire, 0)?.name ?? assert.fail();
      const encoded = encodeName(name) ?? assert.fail(name);
      assert.equal(readName(encoded, 0)?.name, name);
      assert.equal(encoded.length, wire.length);
      assert.deepEqual(expandName(wire, 0)?.wire, wire);
      assert.equal(parseName(`${name}.`), name);
      assert.equal(labelsOf(name).join('.'), name);
      const parent = parentOf(name);
      assert.equal(parent, name === '' ? undefined : labelsOf(name).slice(1).join('.'));
      if (parent !== undefined) assert.ok(isWithin(name, parent));
    }),
  ));
